/** The types of options that several commands have, and the read and write concerns of all commands. */
import type { Document, Timestamp } from 'bson'
import { bsonType, isNullish, isNumeric, isObject, toNumber } from '../values/bson-values.ts'
import { codeName, fail } from '../values/errors.ts'
import { roundToWhole } from '../values/numbers.ts'
import {
  boolean,
  type Check,
  checkKnown,
  flag,
  number,
  object,
  text,
  wrongType,
} from '../values/options/option-types.ts'

const MAX_INT32 = 2 ** 31 - 1

const milliseconds: Check = (value, name) => {
  number(value, name)
  const duration = toNumber(value)
  if (!Number.isInteger(duration)) fail(9, `${name} has non-integral value`)
  if (duration < 0 || duration > MAX_INT32)
    fail(2, `${duration} value for ${name} is out of range [0, ${MAX_INT32}]`)
}

const hint: Check = (value, name) => {
  if (typeof value === 'string') return
  if (!isObject(value)) fail(9, `${name} must be specified as a string or an object`)
  const { $natural, ...others } = value as Document
  if ($natural === undefined) return
  const direction = isNumeric($natural) ? toNumber($natural) : Number.NaN
  if (Math.abs(direction) !== 1 || Object.keys(others).length > 0)
    fail(2, '$natural hint must be 1 or -1, without other fields')
}

/** Unless an entry says otherwise, null counts as absent. */
const types: Record<string, { check: Check; null?: 'refused' }> = {
  new: { check: flag },
  upsert: { check: flag },
  remove: { check: flag },
  singleBatch: { check: boolean, null: 'refused' },
  noCursorTimeout: { check: boolean },
  allowPartialResults: { check: boolean },
  tailable: { check: boolean },
  awaitData: { check: boolean },
  returnKey: { check: boolean },
  showRecordId: { check: boolean },
  bypassDocumentValidation: { check: flag },
  ordered: { check: boolean },
  allowDiskUse: { check: boolean, null: 'refused' },
  collation: { check: object },
  let: { check: object },
  maxTimeMS: { check: milliseconds },
  hint: { check: hint, null: 'refused' },
}

const optionChecks = Object.entries(types)

/**
 * Commands without writes take no write concern. Commands that keep state take only the weakest read concern.
 */
const withoutWrites = /^(count|distinct|killCursors|list\w+|\w*Sessions?)$/
const withoutReads =
  /^(killCursors|create|collMod|drop|dropDatabase|renameCollection|listCollections|listDatabases|\w*Sessions?)$/

/** The commands of the first version of the stable API. */
const stable = new Set(
  (
    'abortTransaction aggregate bulkWrite collMod commitTransaction count create createIndexes delete drop dropDatabase ' +
    'dropIndexes endSessions explain find findAndModify getMore hello insert killCursors listCollections ' +
    'listDatabases listIndexes ping refreshSessions update'
  ).split(' '),
)

/** @throws 322, 4886600 for an invalid version, 323 for a command or option outside the requested version */
export const checkApi = (
  name: string,
  { apiVersion, apiStrict, apiDeprecationErrors, explain }: Document,
): void => {
  if (!isNullish(apiVersion) && typeof apiVersion !== 'string') wrongType('apiVersion', 'string')
  for (const [option, value] of Object.entries({ apiStrict, apiDeprecationErrors })) {
    if (isNullish(value)) continue
    boolean(value, option)
    if (isNullish(apiVersion)) fail(4886600, `Provided ${option} without passing apiVersion`)
  }
  if (isNullish(apiVersion)) return
  if (apiVersion !== '1') fail(322, 'API version must be "1"')
  if (apiStrict && (!stable.has(name) || (name === 'aggregate' && explain !== undefined)))
    fail(323, `Provided apiStrict:true, but the command ${name} is not in API Version 1`)
}

/** @throws 14, 72 for invalid transaction fields */
export const checkTransaction = ({ txnNumber, autocommit, lsid }: Document): void => {
  if (!isNullish(txnNumber) && bsonType(txnNumber) !== 'Long') wrongType('txnNumber', 'long')
  if (!isNullish(autocommit)) boolean(autocommit, 'autocommit')
  if (!isNullish(txnNumber) && toNumber(txnNumber) < 0) fail(72, 'Transaction number cannot be negative')
  if (!isNullish(txnNumber) && isNullish(lsid)) fail(72, 'Transaction number requires a session ID')
  if (isNullish(autocommit)) return
  if (autocommit) fail(72, 'Specifying autocommit=true is not allowed.')
  if (isNullish(txnNumber)) fail(72, "'autocommit' field requires a transaction number")
}

const levels = ['local', 'available', 'majority', 'linearizable', 'snapshot']

/**
 * @throws 14 for an option of a wrong type, 2 and 9 for an invalid value, 40415 for an unknown part of a
 * concern
 */
export const checkTypes = (name: string, request: Document): void => {
  for (const [option, { check, null: nullIs }] of optionChecks) {
    const value = request[option]
    if (value !== undefined && (value !== null || nullIs)) check(value, `${name}.${option}`)
  }
  if (!isNullish(request.readConcern)) checkReadConcern(name, request.readConcern)
  if (isNullish(request.writeConcern)) return
  if (!isObject(request.writeConcern)) wrongType('writeConcern', 'object')
  if (withoutWrites.test(name)) fail(72, `Command ${name} does not support writeConcern`)
  if (name === 'aggregate' && request.explain) fail(9, 'an explanation has no writeConcern')
  checkWriteConcern(request.writeConcern)
}

const provenances = ['clientSupplied', 'implicitDefault', 'customDefault', 'getLastErrorDefaults']

const checkProvenance = (value: unknown): void => {
  if (isNullish(value)) return
  if (typeof value !== 'string') wrongType('provenance', 'string')
  if (!provenances.includes(value as string))
    fail(2, `Enumeration value '${value}' for provenance is not valid`)
}

const checkReadConcern = (name: string, value: unknown): void => {
  const concern: Document = isObject(value) ? value : wrongType('readConcern', 'object')
  checkKnown(concern, 'readConcern', ['level', 'afterClusterTime', 'atClusterTime', 'provenance'])
  const { level } = concern
  if (!isNullish(level)) text(level, 'readConcern.level')
  if (!isNullish(level) && !levels.includes(level))
    fail(2, `Enumeration value '${level}' for field 'readConcern.level' is not a valid value.`)
  for (const time of ['afterClusterTime', 'atClusterTime'])
    if (time in concern && bsonType(concern[time]) !== 'Timestamp')
      wrongType(`readConcern.${time}`, 'timestamp')
  if ((concern.afterClusterTime as Timestamp | undefined)?.isZero())
    fail(72, 'readConcern.afterClusterTime cannot be a null timestamp')
  if ('atClusterTime' in concern && level !== 'snapshot')
    fail(72, 'readConcern.atClusterTime needs the level snapshot')
  checkProvenance(concern.provenance)
  if (withoutReads.test(name) && !isNullish(level) && level !== 'local')
    fail(72, `Command ${name} does not support read concern ${level}`)
}

const checkWriteConcern = (value: unknown): void => {
  const concern: Document = isObject(value) ? value : wrongType('writeConcern', 'object')
  checkKnown(concern, 'writeConcern', ['w', 'j', 'fsync', 'wtimeout', 'provenance'])
  const { w, wtimeout } = concern
  for (const name of ['j', 'fsync'])
    if (!isNullish(concern[name])) flag(concern[name], `writeConcern.${name}`)
  if ('w' in concern) checkW(w)
  if (isNumeric(wtimeout) && !(toNumber(wtimeout) <= MAX_INT32))
    fail(9, 'wtimeout must be a number that fits into 32 bits')
  checkProvenance(concern.provenance)
}

/** Adapts an answer to the write concern: unacknowledged, or of more members than the one that exists. */
export const underConcern = (reply: Document, { writeConcern }: Document): Document => {
  if (!isNumeric(writeConcern?.w)) return reply
  const members = roundToWhole(writeConcern.w)
  const { writeErrors: _, ...unacknowledgedReply } = reply
  if (members === 0) return unacknowledgedReply
  const code = { code: 100, codeName: codeName(100) }
  return members === 1
    ? reply
    : { ...reply, writeConcernError: { ...code, errmsg: 'Not enough data-bearing nodes' } }
}

/** The only member is also the majority. */
const checkW = (w: unknown): void => {
  if (typeof w === 'string' || w === null) {
    if (w !== 'majority') fail(2, `unknown write concern mode: ${w}`)
  } else if (isNumeric(w)) {
    const members = roundToWhole(w)
    if (!(members >= 0 && members <= 50)) fail(9, 'w has to be a non-negative number and not greater than 50')
  } else if (!isObject(w) || Object.keys(w).length === 0 || !Object.values(w).every(isNumeric))
    fail(9, 'w has to be a number, string, or tags with their numbers')
}
