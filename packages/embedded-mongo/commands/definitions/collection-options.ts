/** Checks the options of create and collMod. */
import type { Document } from 'bson'
import { checkIdIndex as checkIdSpec, checkName, checkVersion } from '../../storage/collections/indexes.ts'
import { isNullish, isTruthy } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { collationOf } from '../../values/options/collation.ts'
import { checkEach, object, oneOf } from '../../values/options/option-types.ts'

/** Accepted and ignored, because there are no validators. */
const validation = {
  validationLevel: oneOf('off', 'strict', 'moderate'),
  validationAction: oneOf('error', 'warn', 'errorAndLog'),
}

export const validationOptions = Object.keys(validation).join(' ')

export const refusedOptions =
  'capped size max timeseries viewOn pipeline clusteredIndex validator expireAfterSeconds encryptedFields ' +
  'changeStreamPreAndPostImages storageEngine indexOptionDefaults cappedSize cappedMax'

/** Whether an unsupported option has a value that changes nothing. */
const hasNoEffect = (option: string, value: unknown): boolean =>
  (value === null && option !== 'clusteredIndex') ||
  (option === 'capped' && !isTruthy(value)) ||
  (/^(storageEngine|indexOptionDefaults)$/.test(option) && Object.keys(value as object).length === 0)

/** @throws 2, 14, 115 */
export const checkCollectionOptions = (command: Document, name: string): void => {
  checkEach(command, name, {
    ...validation,
    validator: object,
    changeStreamPreAndPostImages: object,
    storageEngine: object,
    indexOptionDefaults: object,
  })
  for (const option of refusedOptions.split(' '))
    if (command[option] !== undefined && !hasNoEffect(option, command[option]))
      fail(115, `option ${option} is not supported by this engine`)
}

/** @throws 2, 9, 14, 67, 197 for a specification that the index on _id cannot have */
export const checkIdIndexOption = ({ idIndex, collation }: Document): void => {
  if (isNullish(idIndex)) return
  object(idIndex, 'create.idIndex')
  if (idIndex.key === undefined) fail(9, "The 'key' field is a required property of an index specification")
  object(idIndex.key, 'create.idIndex.key')
  checkName(idIndex)
  checkVersion(idIndex)
  checkIdSpec(idIndex)
  if (!isNullish(idIndex.collation) && collationOf(idIndex.collation) !== collationOf(collation))
    fail(2, 'The _id index must have the collation of its collection')
}
