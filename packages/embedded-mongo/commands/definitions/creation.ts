/** What a collection may be made, and changed, with. */
import type { Document } from 'bson'
import { collationOf } from '../../values/collation.ts'
import { fail } from '../../values/errors.ts'
import { isNullish, isNumeric, toNumber, truthy } from '../../values/values.ts'
import { checkEach, number, object, oneOf, text } from '../option-types.ts'

/** What says nothing where there are no validators. */
const validation = {
  validationLevel: oneOf('off', 'strict', 'moderate'),
  validationAction: oneOf('error', 'warn', 'errorAndLog'),
}

export const validationOptions = Object.keys(validation).join(' ')

export const refusedOptions =
  'capped size max timeseries viewOn pipeline clusteredIndex validator expireAfterSeconds encryptedFields ' +
  'changeStreamPreAndPostImages storageEngine indexOptionDefaults cappedSize cappedMax'

/** Those that may be there without saying anything. */
const saysNothing = (option: string, value: unknown): boolean =>
  (value === null && option !== 'clusteredIndex') ||
  (option === 'capped' && !truthy(value)) ||
  (/^(storageEngine|indexOptionDefaults)$/.test(option) && Object.keys(value as object).length === 0)

/** @throws 2, 14, 115 */
export const checkCollectionOptions = (command: Document, name: string): void => {
  checkEach(command, name, {
    ...validation,
    ...{ validator: object, changeStreamPreAndPostImages: object },
    ...{ storageEngine: object, indexOptionDefaults: object },
  })
  for (const option of refusedOptions.split(' '))
    if (command[option] !== undefined && !saysNothing(option, command[option]))
      fail(115, `option ${option} is not supported by this engine`)
}

const idIndexOptions = ['key', 'name', 'v', 'ns', 'collation']

/** The index of _id is as it is; it may be written out. @throws 2, 9, 14, 67, 197 */
export const checkIdIndex = ({ idIndex, collation }: Document): void => {
  if (isNullish(idIndex)) return
  object(idIndex, 'create.idIndex')
  for (const option of Object.keys(idIndex))
    if (!idIndexOptions.includes(option))
      fail(197, `The field '${option}' is not valid for an _id index specification`)
  const { key, name, v } = idIndex
  if (key === undefined || name === undefined) fail(9, "The 'key' and 'name' fields are required")
  object(key, 'create.idIndex.key')
  text(name, 'create.idIndex.name')
  const [[field, direction] = [], ...more] = Object.entries(key)
  if (field !== '_id' || more.length > 0 || !isNumeric(direction) || toNumber(direction) !== 1)
    fail(2, 'The _id index has the key {_id: 1}')
  if (name === '') fail(67, 'The index name cannot be empty')
  if (v !== undefined) checkVersion(v)
  if (!isNullish(idIndex.collation) && collationOf(idIndex.collation) !== collationOf(collation))
    fail(2, 'The _id index has the collation of its collection')
}

const checkVersion = (version: unknown): void => {
  number(version, 'create.idIndex.v')
  const value = toNumber(version)
  if (!Number.isInteger(value)) fail(2, 'Index version must be an integer')
  if (value !== 1 && value !== 2) fail(67, `Invalid index specification version ${value}`)
}
