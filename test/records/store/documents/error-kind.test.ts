import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { MongoBulkWriteError, MongoError, MongoErrorLabel, MongoServerError } from 'mongodb'
import {
  type ErrorKind,
  errorKindOf,
  isFullDisk,
  isOutage,
  isWriteConflict,
  unavailableError,
} from '../../../../records/store/documents/outage.ts'
import { isDeadlineError } from '../../../../records/store/reading/deadlines.ts'
import { ServiceError } from '../../../../schemas/errors.ts'

type ErrorClass = new (...args: never[]) => Error

/** Every error class of the driver, exported or not, by its name. */
function findErrorClasses(): Map<string, ErrorClass> {
  const load = createRequire(import.meta.url)
  const folder = dirname(load.resolve('mongodb'))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )
  const modules = files.map((file) => load(join(folder, file)) as Record<string, unknown>)
  const { BSON } = load('mongodb')
  const errorClasses = new Map<string, ErrorClass>()
  for (const one of [BSON, ...modules].flatMap((module) => Object.values(module)))
    if (typeof one === 'function' && one.prototype instanceof Error)
      errorClasses.set(one.name, one as ErrorClass)
  return errorClasses
}

const OUTAGES = [
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'PoolClearedError',
  'PoolClearedOnNetworkError',
  'PoolClosedError',
  'WaitQueueTimeoutError',
  'MongoSystemError',
  'MongoServerSelectionError',
  'MongoNotConnectedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoStalePrimaryError',
  'MongoExpiredSessionError',
  'MongoOperationTimeoutError',
  'MongoWriteConcernError',
]
/** Errors of our code, of the configuration, of features that we do not use, and of replies by their codes. */
const FAULTS = [
  'MongoError',
  'MongoServerError',
  'MongoDriverError',
  'MongoAPIError',
  'MongoRuntimeError',
  'MongoBulkWriteError',
  'MongoClientBulkWriteError',
  'MongoClientBulkWriteCursorError',
  'MongoClientBulkWriteExecutionError',
  'MongoBatchReExecutionError',
  'MongoDecompressionError',
  'MongoTransactionError',
  'MongoKerberosError',
  'MongoAWSError',
  'MongoOIDCError',
  'MongoAzureError',
  'MongoGCPError',
  'MongoChangeStreamError',
  'MongoTailableCursorError',
  'MongoGridFSStreamError',
  'MongoGridFSChunkError',
  'MongoUnexpectedServerResponseError',
  'MongoCursorInUseError',
  'MongoCursorExhaustedError',
  'MongoParseError',
  'MongoInvalidArgumentError',
  'MongoCompatibilityError',
  'MongoMissingCredentialsError',
  'MongoMissingDependencyError',
  'MongoCryptError',
  'MongoCryptInvalidArgumentError',
  'MongoCryptCreateDataKeyError',
  'MongoCryptCreateEncryptedCollectionError',
  'MongoCryptAzureKMSRequestError',
  'MongoCryptKMSRequestNetworkTimeoutError',
  'TimeoutError',
  'BSONError',
  'BSONVersionError',
  'BSONRuntimeError',
  'BSONOffsetError',
]
const KINDS = new Map<string, ErrorKind>([
  ...OUTAGES.map((name) => [name, 'outage'] as const),
  ...FAULTS.map((name) => [name, 'fault'] as const),
])

/** The kinds of errors that would be faults without a label. */
const LABEL_KINDS: Record<string, ErrorKind> = {
  RetryableWriteError: 'outage',
  RetryableError: 'outage',
  PoolRequestedRetry: 'outage',
  ResetPool: 'outage',
  TransientTransactionError: 'outage',
  // They accompany errors of both sorts.
  UnknownTransactionCommitResult: 'fault',
  ResumableChangeStreamError: 'fault',
  HandshakeError: 'fault',
  InterruptInUseConnections: 'fault',
  NoWritesPerformed: 'fault',
  SystemOverloadedError: 'fault',
}

/** Instances of a class: constructed, and one that only inherits from it. */
function instancesOf(one: ErrorClass): Error[] {
  const bare = Object.create(one.prototype) as Error
  const pool = { address: 'host:1', serverError: undefined }
  const attempts = [
    ['text', { cause: undefined }],
    [{ message: 'text' }, {}],
    [pool, 'text'],
  ]
  const constructed = attempts.flatMap((args) => {
    try {
      return [new one(...(args as never[]))]
    } catch {
      return []
    }
  })
  return [bare, ...constructed]
}

/** An error in a wrapper of the driver, whose constructor reads the labels of the wrapped error. */
const wrapInReply = (wrapper: ErrorClass, error: Error): Error =>
  'errorLabelSet' in error || !(error instanceof MongoError)
    ? new wrapper(...([error, {}] as never[]))
    : Object.assign(Object.create(wrapper.prototype), { errorResponse: error })

const wrappersOf = (error: Error): [name: string, Error][] => [
  ['cause', new Error('outer', { cause: error })],
  ['cause of a cause', new Error('outer', { cause: new Error('middle', { cause: error }) })],
  ['MongoServerError', wrapInReply(MongoServerError, error)],
  ['MongoBulkWriteError', wrapInReply(MongoBulkWriteError, error)],
  ['AggregateError', new AggregateError([new Error('other'), error])],
]

describe('errorKindOf', () => {
  const classes = findErrorClasses()
  const expectKind = (error: unknown, kind: ErrorKind, title: string) => {
    assert.equal(errorKindOf(error), kind, title)
    assert.equal(isOutage(error), kind === 'outage' || kind === 'conflict', title)
    assert.equal(isWriteConflict(error), kind === 'conflict', title)
    assert.equal(isDeadlineError(error), kind === 'limit', title)
  }

  it('knows every error class of the driver, and no other', () => {
    assert.ok(classes.size > 50)
    assert.deepEqual([...classes.keys()].sort(), [...KINDS.keys()].sort())
    assert.deepEqual(Object.keys(LABEL_KINDS).sort(), Object.values(MongoErrorLabel).sort())
  })

  it('classifies instances of each class, alone and wrapped', () => {
    for (const [name, one] of classes)
      for (const error of instancesOf(one)) {
        const kind = KINDS.get(name) as ErrorKind
        expectKind(error, kind, name)
        for (const [wrapper, wrapped] of wrappersOf(error)) expectKind(wrapped, kind, `${name} in ${wrapper}`)
      }
  })

  it('classifies by labels what is a fault without them', () => {
    for (const [name, one] of classes)
      for (const error of instancesOf(one).filter((error) => 'errorLabelSet' in error))
        for (const [label, kind] of Object.entries(LABEL_KINDS)) {
          ;(error as MongoError & { errorLabelSet: Set<string> }).errorLabelSet = new Set([label])
          const expected = KINDS.get(name) === 'outage' ? 'outage' : kind
          expectKind(error, expected, `${name} with ${label}`)
          for (const [wrapper, wrapped] of wrappersOf(error))
            expectKind(wrapped, expected, `${name} with ${label} in ${wrapper}`)
        }
  })

  it('classifies replies of the database by their codes', () => {
    const codesOf: Record<ErrorKind, number[]> = {
      outage: [
        6, 7, 43, 64, 89, 91, 175, 189, 237, 262, 290, 9001, 10_107, 11_600, 11_602, 13_435, 13_436, 14_031,
      ],
      conflict: [112],
      limit: [50],
      fault: [2, 9, 11_000, 10_334, 51_091],
    }
    const codes = Object.entries(codesOf).flatMap(([kind, codes]) =>
      codes.map((code) => [code, kind as ErrorKind] as const),
    )
    for (const [code, kind] of codes) {
      const error = new MongoServerError({ message: 'text', code })
      expectKind(error, kind, `${code}`)
      for (const [wrapper, wrapped] of wrappersOf(error)) expectKind(wrapped, kind, `${code} in ${wrapper}`)
    }
    const transient = new MongoServerError({
      message: 'text',
      code: 251,
      errorLabels: ['TransientTransactionError'],
    })
    expectKind(transient, 'conflict', 'a transaction that the server aborted')
  })

  it('classifies the errors of sockets and of the service, and leaves other values', () => {
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'EAI_AGAIN'])
      expectKind(Object.assign(new Error('text'), { code }), 'outage', code)
    expectKind(unavailableError(), 'outage', 'Unavailable')
    expectKind(new ServiceError('DeadlineExceeded'), 'limit', 'DeadlineExceeded')
    const refusal = new ServiceError('NotFound', {
      cause: Object.assign(new Error('text'), { code: 'EPIPE' }),
    })
    expectKind(refusal, 'fault', 'a refusal with a cause')
    const fault = new Error('its own cause')
    fault.cause = fault
    assert.equal(isFullDisk(fault), false)
    assert.equal(isFullDisk(unavailableError(new MongoServerError({ message: 'text', code: 14031 }))), true)
    for (const value of [fault, undefined, null, 'MongoNetworkError', { code: 91 }, new TypeError('text')])
      expectKind(value, 'fault', String(value))
  })
})
