import { calculateObjectSize, type Document, Double } from 'bson'

/** The names of MongoDB's error codes; a code without a name is called by its number. */
const NAMES: Readonly<Record<number, string>> = {
  1: 'InternalError',
  2: 'BadValue',
  9: 'FailedToParse',
  13: 'Unauthorized',
  14: 'TypeMismatch',
  15: 'Overflow',
  16: 'InvalidLength',
  20: 'IllegalOperation',
  24: 'LockTimeout',
  26: 'NamespaceNotFound',
  27: 'IndexNotFound',
  28: 'PathNotViable',
  40: 'ConflictingUpdateOperators',
  43: 'CursorNotFound',
  48: 'NamespaceExists',
  50: 'MaxTimeMSExpired',
  52: 'DollarPrefixedFieldName',
  53: 'InvalidIdField',
  54: 'NotSingleValueField',
  56: 'EmptyFieldName',
  59: 'CommandNotFound',
  66: 'ImmutableField',
  67: 'CannotCreateIndex',
  72: 'InvalidOptions',
  73: 'InvalidNamespace',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
  100: 'UnsatisfiableWriteConcern',
  111: 'NotExactValueField',
  112: 'WriteConflict',
  115: 'CommandNotSupported',
  125: 'CommandFailed',
  146: 'ExceededMemoryLimit',
  161: 'IncompatibleCollationVersion',
  168: 'InvalidPipelineOperator',
  171: 'CannotIndexParallelArrays',
  175: 'QueryPlanKilled',
  181: 'AmbiguousIndexKeyPattern',
  197: 'InvalidIndexSpecificationOption',
  207: 'InvalidUUID',
  224: 'QueryFeatureNotAllowed',
  225: 'TransactionTooOld',
  232: 'MaxSubPipelineDepthExceeded',
  241: 'ConversionFailure',
  246: 'SnapshotUnavailable',
  251: 'NoSuchTransaction',
  263: 'OperationNotSupportedInTransaction',
  276: 'IndexBuildAborted',
  292: 'QueryExceededMemoryLimitNoDiskUseAllowed',
  322: 'APIVersionError',
  323: 'APIStrictError',
  237: 'CursorKilled',
  10334: 'BSONObjectTooLarge',
  11000: 'DuplicateKey',
  12051: 'CursorInUse',
  12587: 'BackgroundOperationInProgressForNamespace',
  13297: 'DatabaseDifferCase',
  14031: 'OutOfDiskSpace',
}

export const codeName = (code: number): string => NAMES[code] ?? `Location${code}`

/** Messages may contain values of clients. A longer one is cut off, so that the answer fits into a document. */
export const MAX_MESSAGE_LENGTH = 2 ** 20

/** An answer `{ok: 0, code, codeName, errmsg, ...extra}`; in a write command also a row of writeErrors. */
export class CommandError extends Error {
  readonly code: number
  readonly extra: Document

  constructor(code: number, message: string, extra: Document = {}) {
    super(message.slice(0, MAX_MESSAGE_LENGTH))
    this.code = code
    this.extra = extra
  }

  reply(): Document {
    const { message: errmsg, code, extra } = this
    return { ok: new Double(0), errmsg, code, codeName: codeName(code), ...extra }
  }
}

/** The collection of a write does not exist. Outside transactions the write creates it and begins again. */
export class MissingCollection extends CommandError {
  readonly db: string
  readonly collection: string

  constructor(db: string, collection: string) {
    super(26, `ns does not exist: ${db}.${collection}`)
    this.db = db
    this.collection = collection
  }
}

/** The bytes of all messages in the answer to a batch. */
const MAX_REASONS_BYTES = 2 ** 23

/**
 * Describes the errors of a batch, one after the other. As in MongoDB, all have their codes, and messages are empty
 * when the answer would become too large.
 */
export const createErrorDescriber = (): ((error: CommandError) => Document) => {
  let left = MAX_REASONS_BYTES
  return ({ code, message, extra }) => {
    const reason = { errmsg: message, ...extra }
    left -= calculateObjectSize(reason)
    return { code, ...(left >= 0 ? reason : { errmsg: '' }) }
  }
}

export const fail = (code: number, message: string, extra: Document = {}): never => {
  throw new CommandError(code, message, extra)
}

/** Tells the client that it may retry the whole transaction. */
export const createTransientError = (code: number, message: string): CommandError =>
  new CommandError(code, message, { errorLabels: ['TransientTransactionError'] })

/**
 * Converts any thrown value to a CommandError. Errors that libraries throw about a caller's expression become
 * BadValue.
 */
export const toCommandError = (error: unknown): CommandError => {
  if (error instanceof CommandError) return error
  if (error instanceof RangeError && /call stack/.test(error.message))
    return new CommandError(15, 'the document is nested too deeply')
  const { name, message } = error instanceof Error ? error : { name: '', message: String(error) }
  return name === 'BSONError' || name === 'Error'
    ? new CommandError(2, message)
    : new CommandError(1, message)
}
