/** Shifts the wall clock of a process that imports this file first, by CLOCK_SHIFT_MS milliseconds. */
const shift = Number(process.env.CLOCK_SHIFT_MS)
const RealDate = Date
const now = () => RealDate.now() + shift

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], newTarget),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})
