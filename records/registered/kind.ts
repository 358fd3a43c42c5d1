import type { Static, TObject, TProperties, TSchema } from '@sinclair/typebox'
import type { ClientSession, IndexDescription } from 'mongodb'
import type { Language } from '../../schemas/code-lists.ts'
import type { ServiceError } from '../../schemas/errors.ts'
import { namesOf } from '../../schemas/forms/fields.ts'
import type { AnyForms, RegisteredIn } from '../../schemas/forms/forms.ts'
import { type Check, checkOf } from '../../schemas/registry.ts'
import type { Violation } from '../../schemas/violation.ts'
import { type EhrHead, ehrPermissions } from '../ehrs/rights/access.ts'
import type { Caller, Permissions } from '../store/documents/caller.ts'
import type { ListShape } from '../store/reading/listing.ts'
import type { Resource } from '../store/resource.ts'
import type { Companion } from '../store/writing/companions.ts'
import type { Records } from '../store/writing/transaction.ts'
import type { TimelineLine } from './timeline-line.ts'

/** The values of a record's fields, days and moments as ISO texts; of any type, since nothing is sure yet. */
export type Values = Readonly<Record<string, unknown>>

/** What a kind demands beyond its fields. The values are the whole record, after an update too. */
export interface Rules {
  /** Fields that are judged together, hence written together: two updates at once must not mix them. */
  together: readonly string[]
  /** Fields that are required because of what else is there. */
  missing?(values: Values): string[]
  /** @param changed the names of the fields that the client sent */
  violations(values: Values, changed: readonly string[]): Violation[]
  /** What the service adds to valid values. */
  derived?(values: Values): Record<string, unknown>
  /** Of that, what stays as it was when the record was made. */
  once?: readonly string[]
}

/** What can be done with a record of a kind that is like any other. */
export type PlainOperation = 'list' | 'add' | 'get' | 'replace' | 'delete' | 'history' | 'restore'

/** How a record compares with the former one of the same care plan, for kinds where that is of interest. */
export interface Comparison {
  /** Fields in which both are the same, their care plan among them. */
  alike: readonly string[]
  /** The number that is compared; without one there is nothing to tell. */
  of: string
  /** What the path family's answers tell of it. */
  fields: TProperties
  told(now: Values, former: Values): Record<string, unknown>
}

/** What a list can be narrowed by, beside its times. */
export interface Filter {
  /** Of the value in the query. */
  schema: TSchema
  /** What is then true of the records, by the names of their fields. */
  where(value: string): Record<string, unknown>
}

/** What makes a record the same one as another: an EHR has one of those that share a text in `knownBy`. */
interface Known {
  /** The fields that tell. */
  by: readonly string[]
  /** What then stands in its field `knownBy`. */
  as(values: Values): string[]
}

/** What every kind of record says about itself, whichever families have it. */
export interface Kind extends Resource<TObject, string> {
  /** What it is called in a sentence, where people read it: `{ en: 'care plan', nl: 'zorgplan' }`. */
  words: Record<Language, string>
  registeredIn: RegisteredIn
}

/** A kind that the class family has as a class of the kind's name, beside what the path family offers of it. */
export interface ClassKind extends Kind, AnyForms {
  checks: { create: Check; update: Check }
  rules: Rules
  /** Those that hold for some values, where they depend on what is kept elsewhere. */
  rulesFor?: ((records: Definitions, values: Values) => Promise<Rules>) | undefined
  /** What forbids new records, each by itself, that their rules let pass: there may be enough of them. */
  admission?:
    | ((records: Definitions, some: readonly Values[], session?: ClientSession) => Promise<Refusals>)
    | undefined
  comparison?: Comparison | undefined
  /** How many of them one care plan, or one goal, takes. */
  most?: { of: 'carePlanId' | 'goalId'; count: number } | undefined
  /** How it stands in the timeline of its EHR; absent: not at all. */
  timeline?: TimelineLine | undefined
  /** What not everybody may change who may write the record; `now` has its id, too. */
  reserved?: ((caller: Caller, now: Values, next: Values) => Violation[]) | undefined
  filters?: Readonly<Record<string, Filter>> | undefined
  /** What is true of those that are in no plan, of a kind whose records are in plans as a rule. */
  outsidePlans?: Readonly<Record<string, unknown>> | undefined
  known?: Known | undefined
  /** Whether the class family shows it without writing it. */
  readOnly?: true | undefined
  /** Who may see what is registered in an EHR, when that is not whoever sees the EHR. */
  permissions(ehr: EhrHead, id: string): Permissions
}

/** What modellers have said is looked up in these. */
export type Definitions = Pick<Records, 'db' | 'definitions'>

/** What forbids each of several; undefined: nothing. */
export type Refusals = (ServiceError | undefined)[]

/** A kind with the rules that hold for these values. */
export async function ruledFor(records: Definitions, kind: ClassKind, values: Values): Promise<ClassKind> {
  return kind.rulesFor ? { ...kind, rules: await kind.rulesFor(records, values) } : kind
}

type Lists<S extends TObject> = Record<string, ListShape<Static<S>>>

interface Options<S extends TObject, L extends Lists<S>> {
  words: Kind['words']
  /** What the fields cannot say. */
  rules?: Rules
  rulesFor?: ClassKind['rulesFor']
  admission?: ClassKind['admission']
  companion?: Companion
  readOnly?: true
  /** Every list there is, each with an index of its own. */
  lists: L
  /** Fields by which clients of the class family find and sort what they may read, beside those of the lists. */
  foundBy?: readonly string[]
  /** Further indexes. */
  indexes?: readonly IndexDescription[]
  most?: ClassKind['most']
  timeline?: TimelineLine
  comparison?: ClassKind['comparison']
  reserved?: ClassKind['reserved']
  filters?: Readonly<Record<string, Filter>>
  outsidePlans?: ClassKind['outsidePlans']
  known?: Known
  permissions?: ClassKind['permissions']
}

/**
 * A kind of record as a value. From the table of kinds follow the class and its triggers, the store and its indexes,
 * what is hidden, restored, removed, exported and forgotten, documentation and tests.
 *
 *     export const Event = kind(EventForms, { words: { en: 'event', nl: 'gebeurtenis' }, rules, lists: { … } })
 */
export function kind<F extends AnyForms, const L extends Lists<F['record']>>(
  forms: F,
  options: Options<F['record'], L>,
) {
  const { rules = NO_RULES, permissions = ehrPermissions, known, timeline, lists } = options
  const indexes = [...(options.indexes ?? []), ...timelineIndexes(timeline, Object.values(lists))]
  return {
    ...forms,
    ...options,
    collection: forms.name,
    schema: forms.record as F['record'],
    ehr: (forms.registeredIn === 'none' ? 'id' : 'ehrId') as 'ehrId',
    checks: { create: checkOf(forms.create), update: checkOf(forms.update) },
    rules: known ? knownRules(rules, known) : rules,
    indexes: [...indexes, ...(known ? [KNOWN] : []), ...readableIndexes(forms, options)],
    permissions,
  }
}

const META: Readonly<Record<string, string>> = { createdAt: '_created_at', updatedAt: '_updated_at' }

/**
 * A client of the class family may ask without naming an EHR: what it may read is then a part of the index, so that
 * the work grows with what it is shown, not with what others have stored.
 */
function readableIndexes(
  { fields }: AnyForms,
  { lists, foundBy = [] }: Options<TObject, Lists<TObject>>,
): IndexDescription[] {
  const hidden = namesOf(fields, 'internal')
  const sorts = Object.values(lists).map(({ sort }) => sort as string)
  const wanted = new Set([...sorts.filter((sort) => !hidden.includes(sort)), ...foundBy, 'createdAt'])
  return [...wanted].map((field) => ({
    name: `readable_${field}`,
    key: new Map<string, 1 | -1>([
      ['_rperm', 1],
      [META[field] ?? field, -1],
    ]),
  }))
}

const NO_RULES: Rules = { together: [], violations: () => [] }

/** By EHR and start, unless a list has such an index. What tells by itself what reaches into a time has its own ways. */
function timelineIndexes(
  timeline: TimelineLine | undefined,
  lists: readonly Pick<ListShape<Record<string, unknown>>, 'by' | 'sort'>[],
): IndexDescription[] {
  if (!timeline || timeline.reaching) return []
  const listed = lists.flatMap(({ by, sort }) => (by.join() === 'ehrId' ? [sort] : []))
  const starts = timeline.start.filter((field) => !listed.includes(field))
  return starts.map((field) => ({
    name: `timeline_${field}`,
    key: { ehrId: 1, [field === 'createdAt' ? '_created_at' : field]: -1, _id: -1 },
  }))
}

/** Two that are written at the same instant do not see each other: the database lets one through. */
const KNOWN: IndexDescription = { name: 'known', key: { ehrId: 1, knownBy: 1 }, unique: true }

const knownRules = (rules: Rules, known: Known): Rules => ({
  ...rules,
  together: [...rules.together, ...known.by],
  derived: (values) => ({ ...rules.derived?.(values), knownBy: known.as(values) }),
})
