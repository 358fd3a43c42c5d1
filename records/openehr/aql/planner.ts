import { mayHold } from '../rm/reach.ts'
import { isVersion } from './evaluation/containment.ts'
import { constantOf } from './evaluation/predicates.ts'
import { factFilter } from './fact-filter.ts'
import { both, conditionFilter, either, type Filter, joined } from './filters.ts'
import type {
  ClassNode,
  Condition,
  Containment,
  Operand,
  PathStep,
  Predicate,
  Query,
} from './language/ast.ts'

/** Where a query is looked for. */
export interface Plan {
  /**
   * What is evaluated at once: one version of a composition or of an EHR_STATUS; or an EHR with all that is wanted of it, when
   * more than one of them may have to be there, or none.
   */
  unit: 'document' | 'ehr'
  compositions: boolean
  statuses: boolean
  /** All versions, not only the latest. */
  versions: 'latest' | 'all'
  /** Whether what is said of versions is asked for: who made them, and when. */
  audited: boolean
  /** What is true of the EHRs, by the fields of their records. */
  ehrs: Filter | undefined
  /** What is true of the compositions, by the fields of their records. It may let in too many, never too few. */
  candidates: Filter | undefined
  /** What is true of the facts of compositions, by their places. It, too, may let in too many. */
  facts: Filter | undefined
}

/** Which field of a record an attribute of an object is; undefined: it is none. */
type Field = (rmType: string, path: string) => string | undefined

const ofEhr: Field = (rmType, path) =>
  rmType === 'EHR' && (path === 'ehr_id/value' || path === 'ehr_id') ? '_id' : undefined

const COMPOSITION_FIELDS: Readonly<Record<string, string>> = {
  'uid/value': '_id',
  'archetype_details/template_id/value': 'templateId',
  'name/value': 'name',
}

const ofComposition: Field = (rmType, path) => {
  if (isVersion(rmType)) return path === 'uid/value' ? '_id' : undefined
  return rmType === 'COMPOSITION' ? COMPOSITION_FIELDS[path] : ofEhr(rmType, path) && 'ehrId'
}

/** @param query checked, with the values of its parameters */
export function planOf({ from, where }: Query): Plan {
  const isEhr = from.rmType === 'EHR'
  const what: Containment | undefined = isEhr ? from.contains?.what : from
  const unit =
    what === undefined || what.kind !== 'class' || (isEhr && from.contains?.negated) ? 'ehr' : 'document'
  const all = classesIn(from)
  const versions = all.some((one) => one.versions === 'all') ? 'all' : 'latest'
  const outermost = what === undefined ? [] : outermostOf(what)
  const types = new Map(
    all.flatMap(({ variable, rmType }) => (variable === undefined ? [] : [[variable, rmType]])),
  )
  const [ehrs, compositions] = [ofEhr, unit === 'document' ? ofComposition : ofEhrOnly].map((field) =>
    both([whereFilter(where, field, types), ...requiredIn(from).map((one) => classFilter(one, field))]),
  )
  const latest = versions === 'latest'
  return {
    unit,
    versions,
    audited: all.some(({ rmType }) => isVersion(rmType)),
    compositions: outermost.some((one) => isHeldBy('COMPOSITION', one)),
    statuses: outermost.some((one) => isHeldBy('EHR_STATUS', one)),
    ehrs,
    candidates: latest ? both([compositions, archetypesOf(outermost)]) : unnamed(compositions),
    facts: latest && unit === 'document' ? factFilter(where, byVariable(requiredIn(from))) : undefined,
  }
}

const byVariable = (nodes: readonly ClassNode[]): Map<string, ClassNode> =>
  new Map(nodes.flatMap((node) => (node.variable === undefined ? [] : [[node.variable, node]])))

/** Of a unit that is an EHR, what is true of one composition need not be of another. */
const ofEhrOnly: Field = (rmType, path) => (rmType === 'EHR' ? ofComposition(rmType, path) : undefined)

/** A former version may have been called otherwise. */
const unnamed = (filter: Filter | undefined): Filter | undefined =>
  filter && JSON.stringify(filter).includes('"name"') ? undefined : filter

function classesIn(containment: Containment): ClassNode[] {
  if (containment.kind !== 'class') return containment.terms.flatMap(classesIn)
  return [containment, ...(containment.contains ? classesIn(containment.contains.what) : [])]
}

/** Those without which there is no row. */
function requiredIn(containment: Containment): ClassNode[] {
  if (containment.kind !== 'class')
    return containment.kind === 'and' ? containment.terms.flatMap(requiredIn) : []
  return [
    containment,
    ...(containment.contains && !containment.contains.negated ? requiredIn(containment.contains.what) : []),
  ]
}

/** The classes that no other of FROM contains, but the EHR. */
const outermostOf = (containment: Containment): ClassNode[] =>
  containment.kind === 'class' ? [containment] : containment.terms.flatMap(outermostOf)

/** Whether the root, or anything in it, may be of the class; around both may be a version. */
function isHeldBy(root: string, { rmType, contains }: ClassNode): boolean {
  if (!isVersion(rmType)) return mayHold(root, rmType)
  return (
    contains === undefined ||
    contains.negated ||
    outermostOf(contains.what).some((one) => isHeldBy(root, one))
  )
}

/** What WHERE says of the fields of a record. */
const whereFilter = (
  where: Condition | undefined,
  field: Field,
  types: ReadonlyMap<string, string>,
): Filter | undefined =>
  conditionFilter(where, (left, operator, others) =>
    operator === '=' ? oneOf(fieldOf(left, field, types), others) : undefined,
  )

function fieldOf(operand: Operand, field: Field, types: ReadonlyMap<string, string>): string | undefined {
  if (operand.kind !== 'path' || operand.predicate) return undefined
  return named(types.get(operand.variable), operand.parts, field)
}

function named(rmType: string | undefined, parts: readonly PathStep[], field: Field): string | undefined {
  if (rmType === undefined || parts.some(({ predicate }) => predicate)) return undefined
  return field(rmType, parts.map(({ attribute }) => attribute).join('/'))
}

function oneOf(field: string | undefined, operands: readonly Operand[]): Filter | undefined {
  if (field === undefined || operands.some(({ kind }) => kind !== 'literal')) return undefined
  const texts = operands.flatMap((one) => {
    const value = one.kind === 'literal' ? one.value : undefined
    if (typeof value !== 'string') return []
    // Any version of a composition is a version of the same record.
    return [field === '_id' ? (value.split('::')[0] as string) : value]
  })
  return { [field]: texts.length === 1 ? texts[0] : { $in: texts } }
}

/** What stands in the brackets behind a class. */
function classFilter({ rmType, predicate }: ClassNode, field: Field): Filter | undefined {
  const of = (one: Predicate): Filter | undefined => {
    if (one.kind === 'node') return undefined
    if (one.kind !== 'comparison') return joined(one, of)
    if (one.operator !== '=' || one.to.kind === 'relative') return undefined
    return oneOf(named(rmType, one.path, field), [one.to])
  }
  return predicate && of(predicate)
}

/** The archetypes of which one of the outermost classes needs some. */
const archetypesOf = (outermost: readonly ClassNode[]): Filter | undefined => either(outermost.map(needed))

function needed(containment: Containment): Filter | undefined {
  if (containment.kind !== 'class') return joined(containment, needed)
  const { predicate, contains } = containment
  const inner = contains && !contains.negated ? needed(contains.what) : undefined
  return both([predicate && archetypeIn(predicate), inner])
}

function archetypeIn(predicate: Predicate): Filter | undefined {
  if (predicate.kind === 'and' || predicate.kind === 'or') return joined(predicate, archetypeIn)
  const id = predicate.kind === 'node' ? constantOf(predicate.id) : undefined
  return typeof id === 'string' && id.startsWith('openEHR-') ? { archetypes: id } : undefined
}
