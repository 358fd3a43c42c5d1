import type { Document } from 'bson'

const names: Record<number, string> = {
  1: 'InternalError',
  2: 'BadValue',
  9: 'FailedToParse',
  14: 'TypeMismatch',
  15: 'Overflow',
  26: 'NamespaceNotFound',
  27: 'IndexNotFound',
  28: 'PathNotViable',
  40: 'ConflictingUpdateOperators',
  43: 'CursorNotFound',
  48: 'NamespaceExists',
  50: 'MaxTimeMSExpired',
  52: 'DollarPrefixedFieldName',
  59: 'CommandNotFound',
  66: 'ImmutableField',
  67: 'CannotCreateIndex',
  72: 'InvalidOptions',
  73: 'InvalidNamespace',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
  91: 'ShutdownInProgress',
  112: 'WriteConflict',
  115: 'CommandNotSupported',
  171: 'CannotIndexParallelArrays',
  197: 'InvalidIndexSpecificationOption',
  246: 'SnapshotUnavailable',
  251: 'NoSuchTransaction',
  263: 'OperationNotSupportedInTransaction',
  10334: 'BSONObjectTooLarge',
  11000: 'DuplicateKey',
}

/** An answer `{ok: 0, code, codeName, errmsg, ...extra}`; in a write command also a row of writeErrors. */
export class CommandError extends Error {
  readonly code: number
  readonly extra: Document

  constructor(code: number, message: string, extra: Document = {}) {
    super(message)
    this.code = code
    this.extra = extra
  }

  reply(): Document {
    return { ok: 0, errmsg: this.message, code: this.code, codeName: codeName(this.code), ...this.extra }
  }
}

const codeName = (code: number): string => names[code] ?? `Location${code}`

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
