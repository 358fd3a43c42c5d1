import type { Validator } from '../../schemas/validation/validators.ts'
import type { DefinitionLookup } from '../ehr-records/kind.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { findVersion } from '../store/writing/history.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { getCachedDefinition } from './definition-cache.ts'
import { compileCheck, isNumericSchema } from './value-schema/value-schema.ts'

export type TypeFamily = 'data' | 'event' | 'device'

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const typeCollectionOf = (family: TypeFamily): string => `types.${family}`

interface ValueRange {
  min?: number
  max?: number
}

/** A type with its compiled check. */
export interface ResolvedType {
  _created_at: Date
  type: string
  name: string
  version: number
  used: boolean
  retired: boolean
  codes: { system: string; code: string }[]
  unit?: string
  ranges?: { hard?: ValueRange; warn?: ValueRange }
  deviceTypes?: string[]
  severity?: string
  perDay: number
  /** Whether its values are numbers. */
  numeric: boolean
  check: Validator
}

const typeCacheKey = (family: TypeFamily, name: string, version?: number): string =>
  `${typeCollectionOf(family)}/${name}${version === undefined ? '' : `@${version}`}`

/**
 * A type, at most a moment old, or one of its versions. It is cached because a batch asks for it a thousand
 * times, and each lookup would compile a check.
 * @param version the version that checked the data before
 */
export const resolveType = (
  context: DefinitionLookup,
  family: TypeFamily,
  name: string,
  version?: number,
): Promise<ResolvedType | undefined> =>
  getCachedDefinition(context.definitions, typeCacheKey(family, name, version), async () => {
    const document = await findTypeDocument(context, typeCollectionOf(family), name, version)
    return document ? toResolvedType(document) : undefined
  })

async function findTypeDocument(
  context: DefinitionLookup,
  collection: string,
  id: string,
  version?: number,
): Promise<ParseDocument | null> {
  const current = await documentCollection(context, collection).findOne({ _id: id })
  if (version === undefined || current?.version === version) return current
  // Earlier releases numbered a type that was added again from 1.
  return findVersion(context.db, { collection, id }, version, current?._created_at)
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

/** What a device type says about data. */
export interface DeviceTypeRules {
  /** The types of the data; without them any. */
  dataTypes?: string[]
  retired?: boolean
}

/** The rules of all device types, at most a moment old: a correction may name another one than the stored data. */
export const findDeviceTypes = async (
  context: DefinitionLookup,
): Promise<ReadonlyMap<string, DeviceTypeRules>> =>
  (await getCachedDefinition(context.definitions, typeCollectionOf('device'), async () => {
    const fields = { projection: { dataTypes: 1, retired: 1 } }
    const deviceTypes = await documentCollection(context, typeCollectionOf('device'))
      .find({}, fields)
      .toArray()
    return new Map(deviceTypes.map(({ _id, ...rules }) => [_id, rules as DeviceTypeRules]))
  })) ?? new Map()

/** Removes a changed type from the cache. */
export const evictType = (
  { definitions }: Pick<StoreContext, 'definitions'>,
  family: TypeFamily,
  name: string,
  version?: number,
) => {
  definitions.delete(typeCacheKey(family, name, version))
  definitions.delete(typeCollectionOf(family))
}

/**
 * Marks a type as used, so that it cannot be deleted any more.
 * @param version the version that has checked the data
 * @returns whether the type still exists; one of the same name that was added after its deletion is another one
 */
export async function markTypeUsed(
  context: DefinitionLookup,
  family: TypeFamily,
  name: string,
  version?: number,
): Promise<boolean> {
  const type = await resolveType(context, family, name, version)
  if (!type || type.used) return type !== undefined
  const types = documentCollection(context, typeCollectionOf(family))
  const { _created_at } = type
  const { matchedCount } = await types.updateOne({ _id: name, _created_at }, { $set: { used: true } })
  evictType(context, family, name)
  evictType(context, family, name, version)
  return matchedCount > 0
}
