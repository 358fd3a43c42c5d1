import type { Check } from '../../schemas/registry.ts'
import type { Definitions } from '../registered/kind.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { recent } from '../store/reading/recent.ts'
import { documentAt } from '../store/writing/history.ts'
import type { Records } from '../store/writing/transaction.ts'
import { checkOfSchema, isNumeric } from './value-schema.ts'

export type TypeFamily = 'data' | 'event' | 'device'

/** A name that no class can have: the class family never reaches it. */
export const collectionOf = (family: TypeFamily): string => `types.${family}`

interface Range {
  min?: number
  max?: number
}

/** A type as what judges data knows it. */
export interface KnownType {
  type: string
  name: string
  version: number
  used: boolean
  retired: boolean
  codes: { system: string; code: string }[]
  unit?: string
  ranges?: { hard?: Range; warn?: Range }
  deviceTypes?: string[]
  severity?: string
  perDay: number
  /** Whether its values are numbers. */
  numeric: boolean
  check: Check
}

const keyOf = (family: TypeFamily, name: string): string => `${collectionOf(family)}/${name}`

/**
 * A type as it was at most a moment ago, or as a version of it says: a batch asks a thousand times, and each look makes a check
 * of its own.
 * @param version the one that data were checked by
 */
export const knownType = (
  records: Definitions,
  family: TypeFamily,
  name: string,
  version?: number,
): Promise<KnownType | undefined> =>
  recent(
    records.definitions,
    keyOf(family, name) + (version === undefined ? '' : `@${version}`),
    async () => {
      const found = await typeDocument(records, collectionOf(family), name, version)
      return found ? madeOf(found) : undefined
    },
  )

async function typeDocument(
  records: Definitions,
  collection: string,
  id: string,
  version?: number,
): Promise<ParseDocument | null> {
  const now = await documentsOf(records, collection).findOne({ _id: id })
  if (version === undefined || now?.version === version) return now
  return documentAt(records.db, { collection, id }, version)
}

function madeOf(found: ParseDocument): KnownType {
  const type = found as unknown as Omit<KnownType, 'numeric' | 'check'> & { schema?: string }
  const schema = JSON.parse(type.schema ?? '{"type":"object"}')
  let check: Check | undefined
  return {
    ...type,
    numeric: isNumeric(schema),
    check: (value) => {
      check ??= checkOfSchema(schema)
      return check(value)
    },
  }
}

/** It has changed. */
export const forgetType = ({ definitions }: Pick<Records, 'definitions'>, family: TypeFamily, name: string) =>
  definitions.delete(keyOf(family, name))

/**
 * Has a type remember that data are stored of it: from then on it is not deleted.
 * @returns whether it is there
 */
export async function useType(
  records: Definitions,
  family: TypeFamily,
  { type, used }: KnownType,
): Promise<boolean> {
  if (used) return true
  const types = documentsOf(records, collectionOf(family))
  const { matchedCount } = await types.updateOne({ _id: type }, { $set: { used: true } })
  forgetType(records, family, type)
  return matchedCount > 0
}
