import { type IncomingMessage, Server } from 'node:http'

/**
 * Shifts the wall clock of a process that imports this file first, by CLOCK_SHIFT_MS milliseconds. A request with the
 * header `x-clock-shift-ms` changes that.
 */
let shift = Number(process.env.CLOCK_SHIFT_MS ?? 0)
const RealDate = Date
const now = () => RealDate.now() + shift

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], newTarget),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})

const { emit } = Server.prototype
Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]): boolean {
  const shiftHeader = event === 'request' && (args[0] as IncomingMessage).headers['x-clock-shift-ms']
  if (shiftHeader) shift = Number(shiftHeader)
  return Reflect.apply(emit, this, [event, ...args])
}
