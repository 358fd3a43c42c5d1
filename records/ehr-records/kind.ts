import type { Static, TObject, TProperties, TSchema } from '@sinclair/typebox'
import type { ClientSession, IndexDescription } from 'mongodb'
import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import type { HelperAct } from '../../schemas/enums.ts'
import type { ServiceError } from '../../schemas/errors.ts'
import { markedFieldNames } from '../../schemas/forms/fields.ts'
import type { AnyForms, ParentType } from '../../schemas/forms/forms.ts'
import type { EvaluationForm } from '../../schemas/openehr/evaluation-form.ts'
import { createValidator, type Validator } from '../../schemas/validation/validators.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { type EhrAccessFields, ehrPermissions } from '../ehrs/rights/access.ts'
import type { FhirForm } from '../fhir/mapping.ts'
import type { Caller, Permissions } from '../store/documents/caller.ts'
import { storedKeyOf } from '../store/documents/parse-format.ts'
import type { ListDefinition } from '../store/reading/pages.ts'
import type { Resource } from '../store/resource.ts'
import type { RecordDerivation } from '../store/writing/derived-records.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import type { TimelineDefinition } from './timeline-definition.ts'

/** Field values of a record, not validated yet; dates and times are ISO texts. */
export type Values = Readonly<Record<string, unknown>>

/** Rules of a kind beyond its schema. The values are always those of the whole record, in updates, too. */
export interface Rules {
  /** Fields that are validated together, hence written together: concurrent updates must not mix them. */
  dependentFields: readonly string[]
  /** Fields that other values make mandatory. */
  missing?(values: Values): string[]
  /** @param changedFields names of the fields that the client sent */
  violations(values: Values, changedFields: readonly string[]): Violation[]
  /** Computes the derived fields of valid values. */
  derived?(values: Values): Record<string, unknown>
  /** Service fields that a change of the other fields leaves as they are. */
  fixedDerived?: readonly string[]
  /** Internal fields that depend on what a change leaves. */
  afterChange?(current: Values, next: Values): Values
  /**
   * Increase it when the same values would now give other derived fields (docs/decisions/derived-data.md).
   * Default: 1.
   */
  derivationVersion?: number | undefined
}

/** The operations that every kind has. */
export type PlainOperation = 'list' | 'add' | 'get' | 'replace' | 'delete' | 'history' | 'restore'

/** Comparison of a record with the previous one of the same care plan. */
export interface Comparison {
  /** Fields that must be equal in both records, such as the care plan. */
  sameFields: readonly string[]
  /** The numeric field to compare; without a value there is no comparison. */
  comparedField: string
  /** Fields of the comparison in the replies of the path family. */
  fields: TProperties
  describeChange(current: Values, former: Values): Record<string, unknown>
}

/** A filter of a list, in addition to its times. */
export interface ListFilter {
  /** Schema of the query parameter. */
  schema: TSchema
  /** The conditions on the records, by field name. */
  where(value: string): Record<string, unknown>
}

/** The natural key of a kind: within an EHR, no two records share a text in `knownBy`. */
interface NaturalKey {
  /** The fields of which the key consists. */
  fields: readonly string[]
  /** Computes the texts of `knownBy`. */
  keysOf(values: Values): string[]
}

/** Limits the number of records that belong together. */
export interface Quota {
  /** The same text for records that count together and name the same types. */
  keyOf(values: Values): string
  /** Returns for each of several records that would be added the error that forbids it. */
  refuse(context: DefinitionLookup, values: readonly Values[], session?: ClientSession): Promise<Refusals>
}

/** The properties of every kind of record, whichever API family offers it. */
export interface Kind extends Resource<TObject, string> {
  /** Its plural within a sentence, for people: `{ en: 'care plans', nl: 'zorgplannen' }`. */
  words: Record<InterfaceLanguage, string>
  parentType: ParentType
  /** The form of its records in FHIR R4. */
  fhir: FhirForm
}

/** A kind that both API families have; the class has the kind's name. */
export interface ClassKind extends Kind, AnyForms {
  checks: { create: Validator; update: Validator }
  rules: Rules
  /** Returns the rules for given values, if they depend on stored definitions. */
  rulesFor?: ((context: DefinitionLookup, values: Values) => Promise<Rules>) | undefined
  quota?: Quota | undefined
  comparison?: Comparison | undefined
  /** Maximum number of records per care plan or goal. */
  maxCount?: { parentField: 'carePlanId' | 'goalId'; count: number } | undefined
  /** The form of the record in the timeline of its EHR; absent: it does not appear. */
  timeline?: TimelineDefinition | undefined
  /** The form of the record in AQL; absent: none, or that of a measurement. */
  openehr?: EvaluationForm | undefined
  /** Violations of fields that only some writers may change; `now` includes the id. */
  reservedViolations?: ((caller: Caller, current: Values, next: Values) => Violation[]) | undefined
  filters?: Readonly<Record<string, ListFilter>> | undefined
  /** Condition for the records outside plans, if records of this kind are usually in plans. */
  outsidePlans?: Readonly<Record<string, unknown>> | undefined
  naturalKey?: NaturalKey | undefined
  /** The class family can only read it. */
  readOnly?: true | undefined
  /** Permissions of a record of the EHR itself; by default those of the EHR. */
  permissions(ehr: EhrAccessFields, id: string): Permissions
}

/** The services needed for looking up the modellers' definitions. */
export type DefinitionLookup = Pick<StoreContext, 'db' | 'definitions'>

/** The error that forbids each of several records; undefined: it is allowed. */
type Refusals = (ServiceError | undefined)[]

/** Resolves the rules for these values. */
export async function resolveRules(
  context: DefinitionLookup,
  kind: ClassKind,
  values: Values,
): Promise<ClassKind> {
  return kind.rulesFor ? { ...kind, rules: await kind.rulesFor(context, values) } : kind
}

type KindLists<S extends TObject> = Record<string, ListDefinition<Static<S>>>

interface KindOptions<S extends TObject, L extends KindLists<S>> {
  words: Kind['words']
  fhir: FhirForm
  openehr?: EvaluationForm
  /** Rules beyond the schema. */
  rules?: Rules
  rulesFor?: ClassKind['rulesFor']
  quota?: ClassKind['quota']
  recordDerivation?: RecordDerivation
  readOnly?: true
  /** All lists; each has an index of its own. */
  lists: L
  /** Further fields by which clients of the class family search and sort. */
  searchableFields?: readonly string[]
  indexes?: readonly IndexDescription[]
  maxCount?: ClassKind['maxCount']
  timeline?: TimelineDefinition
  comparison?: ClassKind['comparison']
  reservedViolations?: ClassKind['reservedViolations']
  filters?: Readonly<Record<string, ListFilter>>
  outsidePlans?: ClassKind['outsidePlans']
  naturalKey?: NaturalKey
  permissions?: ClassKind['permissions']
  deleters?: Kind['deleters']
  helperAct?: HelperAct
}

/**
 * Defines a kind of record as a value. The table of kinds determines the class and its triggers, the store
 * and its indexes, and which data is hidden, restored, removed, exported and erased. Documentation and tests
 * follow from it, too.
 *
 *     export const Event = defineKind(EventForms, { words: { en: 'events', nl: 'gebeurtenissen' }, lists: { … } })
 */
export function defineKind<F extends AnyForms, const L extends KindLists<F['record']>>(
  forms: F,
  options: KindOptions<F['record'], L>,
) {
  const { rules = NO_RULES, permissions = ehrPermissions, naturalKey, timeline, lists } = options
  const indexes = [
    ...(options.indexes ?? []),
    ...timelineIndexes(timeline, Object.values(lists)),
    ...(options.openehr ? [RECORDED_AT_INDEX] : []),
  ]
  return {
    ...forms,
    ...options,
    collection: forms.name,
    schema: forms.record as F['record'],
    ehr: (forms.parentType === 'none' ? 'id' : 'ehrId') as 'ehrId',
    checks: { create: createValidator(forms.create), update: createValidator(forms.update) },
    rules: naturalKey ? withNaturalKey(rules, naturalKey) : rules,
    indexes: [...indexes, ...(naturalKey ? [NATURAL_KEY_INDEX] : []), ...readableIndexes(forms, options)],
    permissions,
  }
}

/**
 * Indexes that start with the readers, for queries of the class family without an EHR id. The cost of such a
 * query then depends on the caller's data, not on that of others.
 */
function readableIndexes(
  { fields }: AnyForms,
  { lists, searchableFields = [] }: KindOptions<TObject, KindLists<TObject>>,
): IndexDescription[] {
  const internalFields = markedFieldNames(fields, 'internal')
  const sorts = Object.values(lists).map(({ sort }) => sort as string)
  const sortKeys = new Set([
    ...sorts.filter((sort) => !internalFields.includes(sort)),
    ...searchableFields,
    'createdAt',
  ])
  return [...sortKeys].map((field) => ({
    name: `readable_${field}`,
    key: new Map<string, 1 | -1>([
      ['_rperm', 1],
      [storedKeyOf(field), -1],
    ]),
  }))
}

const NO_RULES: Rules = { dependentFields: [], violations: () => [] }

/** Indexes by EHR and start, unless a list has the same. Kinds with `overlapFilters` bring their own. */
function timelineIndexes(
  timeline: TimelineDefinition | undefined,
  lists: readonly Pick<ListDefinition<Record<string, unknown>>, 'requiredFields' | 'sort'>[],
): IndexDescription[] {
  if (!timeline || timeline.overlapFilters) return []
  const sortFields = lists.flatMap(({ requiredFields, sort }) =>
    requiredFields.join() === 'ehrId' ? [sort] : [],
  )
  const starts = timeline.start.filter((field) => !sortFields.includes(field))
  return starts.map((field) => ({
    name: `timeline_${field}`,
    key: { ehrId: 1, [field === 'createdAt' ? '_created_at' : field]: -1, _id: -1 },
  }))
}

/** Index of all records by the time when they were recorded, for AQL. */
export const RECORDED_AT_INDEX = { name: 'recorded_at', key: { _created_at: 1 } } as const

/** Concurrent writers do not see each other's records; the unique index rejects all but one. */
const NATURAL_KEY_INDEX: IndexDescription = { name: 'known', key: { ehrId: 1, knownBy: 1 }, unique: true }

const withNaturalKey = (rules: Rules, naturalKey: NaturalKey): Rules => ({
  ...rules,
  dependentFields: [...rules.dependentFields, ...naturalKey.fields],
  derived: (values) => ({ ...rules.derived?.(values), knownBy: naturalKey.keysOf(values) }),
})
