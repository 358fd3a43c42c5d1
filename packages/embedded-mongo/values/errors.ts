import { type Document, Double } from 'bson'

/** An answer `{ok: 0, code, errmsg, ...extra}`; in a write command also a row of writeErrors. */
export class CommandError extends Error {
  readonly code: number
  readonly extra: Document

  constructor(code: number, message: string, extra: Document = {}) {
    super(message)
    this.code = code
    this.extra = extra
  }

  reply(): Document {
    return { ok: new Double(0), errmsg: this.message, code: this.code, ...this.extra }
  }
}

export const fail = (code: number, message: string, extra: Document = {}): never => {
  throw new CommandError(code, message, extra)
}

/** The client may run the whole transaction again. */
export const transient = (code: number, message: string): CommandError =>
  new CommandError(code, message, { errorLabels: ['TransientTransactionError'] })

/** Any thrown thing as a CommandError: what libraries throw about a caller's expression is a BadValue. */
export const asCommandError = (error: unknown): CommandError => {
  if (error instanceof CommandError) return error
  if (error instanceof RangeError && /call stack/.test(error.message))
    return new CommandError(15, 'the document is nested too deeply')
  const { name, message } = error instanceof Error ? error : { name: '', message: String(error) }
  return name === 'BSONError' || name === 'Error'
    ? new CommandError(2, message)
    : new CommandError(1, message)
}
