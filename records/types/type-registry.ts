import type { Validator } from '../../schemas/validation/validators.ts'
import type { DefinitionLookup } from '../ehr-records/kind.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { findVersion } from '../store/writing/history.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { getCachedDefinition } from './definition-cache.ts'
import { compileCheck, isNumericSchema } from './value-schema.ts'

export type TypeFamily = 'data' | 'event' | 'device'

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const typeCollectionOf = (family: TypeFamily): string => `types.${family}`

interface ValueRange {
  min?: number
  max?: number
}

/** A type with its compiled check. */
export interface ResolvedType {
  type: string
  name: string
  version: number
  used: boolean
  retired: boolean
  codes: { system: string; code: string }[]
  unit?: string
  ranges?: { hard?: ValueRange; warn?: ValueRange }
  deviceTypes?: string[]
  /** Of a device type. */
  dataTypes?: string[]
  severity?: string
  perDay: number
  /** Whether its values are numbers. */
  numeric: boolean
  check: Validator
}

const typeCacheKey = (family: TypeFamily, name: string): string => `${typeCollectionOf(family)}/${name}`

/**
 * A type, at most a moment old, or one of its versions. It is cached because a batch asks for it a thousand
 * times, and each lookup would compile a check.
 * @param version the version that checked the data before
 */
export const resolveType = (
  records: DefinitionLookup,
  family: TypeFamily,
  name: string,
  version?: number,
): Promise<ResolvedType | undefined> =>
  getCachedDefinition(
    records.definitions,
    typeCacheKey(family, name) + (version === undefined ? '' : `@${version}`),
    async () => {
      const document = await findTypeDocument(records, typeCollectionOf(family), name, version)
      return document ? toResolvedType(document) : undefined
    },
  )

async function findTypeDocument(
  records: DefinitionLookup,
  collection: string,
  id: string,
  version?: number,
): Promise<ParseDocument | null> {
  const now = await documentCollection(records, collection).findOne({ _id: id })
  if (version === undefined || now?.version === version) return now
  return findVersion(records.db, { collection, id }, version)
}

function toResolvedType(document: ParseDocument): ResolvedType {
  const type = document as unknown as Omit<ResolvedType, 'numeric' | 'check'> & { schema?: string }
  const schema = JSON.parse(type.schema ?? '{"type":"object"}')
  let check: Validator | undefined
  return {
    ...type,
    numeric: isNumericSchema(schema),
    check: (value) => {
      check ??= compileCheck(schema)
      return check(value)
    },
  }
}

/** Removes a changed type from the cache. */
export const evictType = (
  { definitions }: Pick<StoreContext, 'definitions'>,
  family: TypeFamily,
  name: string,
) => definitions.delete(typeCacheKey(family, name))

/**
 * Marks a type as used, so that it cannot be deleted any more.
 * @returns whether the type still exists
 */
export async function markTypeUsed(
  records: DefinitionLookup,
  family: TypeFamily,
  { type, used }: ResolvedType,
): Promise<boolean> {
  if (used) return true
  const types = documentCollection(records, typeCollectionOf(family))
  const { matchedCount } = await types.updateOne({ _id: type }, { $set: { used: true } })
  evictType(records, family, type)
  return matchedCount > 0
}
