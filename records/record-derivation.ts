import { type ClassKind, resolveRules, type Values } from './ehr-records/kind.ts'
import { defaultsOf } from './ehr-records/validation/record-bodies.ts'
import { derivedFieldNames, pickClientValues } from './ehr-records/validation/record-validation.ts'
import {
  createFieldDerivation,
  type Derivation,
  type DerivationContext,
} from './store/backfill/derivation.ts'
import { createParseFormat, type ParseDocument } from './store/documents/parse-format.ts'
import { findVersion } from './store/writing/history.ts'

const DERIVATION_BATCH_SIZE = 200

/** Creates the field derivation of a kind; undefined when the kind has no derived fields. */
export function recordDerivationOf(kind: ClassKind): Derivation | undefined {
  if (!kind.rules.derived && !kind.rulesFor) return undefined
  const format = createParseFormat(kind.schema)
  const { fixedDerived = [] } = kind.rules
  const defaults = defaultsOf(kind.fields)
  return createFieldDerivation({
    collection: kind.collection,
    version: kind.rules.derivationVersion ?? 1,
    fields: [...derivedFieldNames(kind), ...Object.keys(defaults)],
    batchSize: DERIVATION_BATCH_SIZE,
    areShown: true,
    async derive(context, document) {
      const current = { ...defaults, ...format.fromStored(document) }
      const derivedFields = await deriveFields(context, kind, current)
      const missing = fixedDerived.some((name) => !(name in current))
      const first = missing ? await findFirstVersion(context, kind.collection, document) : undefined
      const fromFirst = first ? await deriveFields(context, kind, format.fromStored(first)) : derivedFields
      const fixedEntries = fixedDerived.map((name) => [name, current[name] ?? fromFirst[name]])
      const defaultEntries = Object.keys(defaults).map((name) => [name, current[name]])
      return format.toStored(
        {
          ...Object.fromEntries(defaultEntries),
          ...derivedFields,
          ...Object.fromEntries(fixedEntries),
        } as object,
        document,
      )
    },
  })
}

/**
 * Computes the derived fields of a stored record. A field that clients may send and the service may calculate
 * (a body-mass index) is calculated if possible.
 */
async function deriveFields(context: DerivationContext, kind: ClassKind, record: Values): Promise<Values> {
  const { rules } = await resolveRules(context, kind, record)
  const values = pickClientValues(kind, record)
  const derivedFields = rules.derived?.(values) ?? {}
  const calculable = Object.keys(derivedFields).filter((name) => name in values)
  if (calculable.length === 0) return derivedFields
  const sentFields = Object.entries(values).filter(([name]) => !calculable.includes(name))
  const calculatedFields = rules.derived?.(Object.fromEntries(sentFields)) ?? {}
  return calculable.every((name) => name in calculatedFields) ? calculatedFields : derivedFields
}

/** Finds the first version of a record; undefined when the document is it, or the history lacks it. */
async function findFirstVersion(
  { db }: DerivationContext,
  collection: string,
  { _id: id, version, ehrId }: ParseDocument,
): Promise<ParseDocument | undefined> {
  if (version === 1) return undefined
  return (await findVersion(db, { collection, id, ehrId: ehrId as string }, 1)) ?? undefined
}
