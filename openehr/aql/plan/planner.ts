import { lookUp } from '../../../schemas/validation/look-up.ts'
import type { FactRange } from '../../compositions/facts.ts'
import { canContain } from '../../rm/containment.ts'
import { isVersionClass } from '../evaluation/class-patterns.ts'
import { constantValue } from '../evaluation/path-evaluator.ts'
import type {
  ClassNode,
  Condition,
  Containment,
  Operand,
  PathStep,
  Predicate,
  QueryTree,
} from '../language/ast.ts'
import { allOf, anyOf, conditionFilter, type DatabaseFilter, joinFilters } from './database-filters.ts'
import { createFactFilter } from './fact-filter.ts'
import { placeOfPath, type QueryPlace, type RequiredClasses, rangeOfPath } from './query-places.ts'

/** The plan of a query: its unit of evaluation, and the documents that it must read. */
export interface QueryPlan {
  /**
   * The unit of evaluation: one version of a composition or EHR_STATUS; or a whole EHR if the query depends
   * on several of them, or on their absence.
   */
  unit: 'document' | 'ehr'
  compositions: boolean
  statuses: boolean
  /** The directories; a folder contains what its items refer to. */
  folders: boolean
  /** All versions, not only the latest. */
  versions: 'latest' | 'all'
  /** Whether the query needs author and time of versions. */
  audited: boolean
  /** The filter for EHRs, by the fields of their records. */
  ehrs: DatabaseFilter | undefined
  /** The filter for compositions, by the fields of their records. It may match too many, never too few. */
  candidates: DatabaseFilter | undefined
  /** The filter for the facts of compositions, by place. It may match too many, never too few. */
  facts: DatabaseFilter | undefined
  /** The order in which the database can return the compositions: that of ORDER BY's first expression. */
  order: QueryOrder | undefined
}

/** The order of the values at a place. */
export interface QueryOrder extends QueryPlace {
  /** The class of the place's variable. */
  node: ClassNode
  descending: boolean
  /** The values that WHERE allows. */
  range: FactRange
  /** WHERE admits no row without a value. */
  isRequired: boolean
}

/** The record field for an attribute path of a class; undefined if there is none. */
type FieldResolver = (rmType: string, path: string) => string | undefined

const ehrField: FieldResolver = (rmType, path) =>
  rmType === 'EHR' && (path === 'ehr_id/value' || path === 'ehr_id') ? '_id' : undefined

const COMPOSITION_FIELDS: Readonly<Record<string, string>> = {
  'uid/value': '_id',
  'archetype_details/template_id/value': 'templateId',
  'name/value': 'name',
}

const compositionField: FieldResolver = (rmType, path) => {
  if (isVersionClass(rmType)) return path === 'uid/value' ? '_id' : undefined
  return rmType === 'COMPOSITION' ? lookUp(COMPOSITION_FIELDS, path) : ehrField(rmType, path) && 'ehrId'
}

/** @param query checked, with bound parameters */
export function planQuery(query: QueryTree): QueryPlan {
  const { from, where } = query
  const isEhr = from.rmType === 'EHR'
  const containment: Containment | undefined = isEhr ? from.contains?.containment : from
  const classNodes = classesOf(from)
  const folders = classNodes.some(({ rmType }) => rmType === 'FOLDER')
  const isWhole =
    containment === undefined || containment.kind !== 'class' || (isEhr && from.contains?.isNegated)
  const unit = isWhole || folders ? 'ehr' : 'document'
  const versions = classNodes.some((one) => one.versions === 'all') ? 'all' : 'latest'
  const outermost = containment === undefined ? [] : outermostClasses(containment)
  const types = new Map(
    classNodes.flatMap(({ variable, rmType }) => (variable === undefined ? [] : [[variable, rmType]])),
  )
  const [ehrs, compositions] = [ehrField, unit === 'document' ? compositionField : ehrFieldOnly].map(
    (field) =>
      allOf([
        whereFilter(where, field, types),
        ...requiredClasses(from).map((one) => classFilter(one, field)),
      ]),
  )
  const latest = versions === 'latest'
  return {
    unit,
    versions,
    audited: classNodes.some(({ rmType }) => isVersionClass(rmType)),
    compositions: outermost.some((one) => canBeContainedIn('COMPOSITION', one)),
    statuses: outermost.some((one) => canBeContainedIn('EHR_STATUS', one)),
    folders,
    ehrs,
    candidates: latest
      ? allOf([compositions, archetypesFilter(outermost)])
      : withoutNameCondition(compositions),
    ...(latest && unit === 'document' ? planFacts(query) : { facts: undefined, order: undefined }),
  }
}

function planFacts(query: QueryTree): Pick<QueryPlan, 'facts' | 'order'> {
  const required = classesByVariable(requiredClasses(query.from))
  return { facts: createFactFilter(query.where, required), order: planOrder(query, required) }
}

/** Rows of a group, and those that must differ from each other, have no order of their own. */
function planOrder(
  { columns, orderBy, distinct, where }: QueryTree,
  required: RequiredClasses,
): QueryOrder | undefined {
  const [first] = orderBy
  if (!first || distinct || columns.some(({ expression }) => expression.kind === 'aggregate'))
    return undefined
  const { operand, column, descending } = first
  const expression = column === undefined ? operand : columns[column]?.expression
  const path = expression?.kind === 'path' ? expression : undefined
  const place = path && placeOfPath(path, required)
  const node = path && required.get(path.variable)
  return place && node && { ...place, node, descending, ...rangeOfPath(where, place) }
}

const classesByVariable = (nodes: readonly ClassNode[]): Map<string, ClassNode> =>
  new Map(nodes.flatMap((node) => (node.variable === undefined ? [] : [[node.variable, node]])))

/** If the unit is a whole EHR, a condition on one composition need not hold for another. */
const ehrFieldOnly: FieldResolver = (rmType, path) =>
  rmType === 'EHR' ? compositionField(rmType, path) : undefined

/** An earlier version may have had another name. */
const withoutNameCondition = (filter: DatabaseFilter | undefined): DatabaseFilter | undefined =>
  filter && JSON.stringify(filter).includes('"name"') ? undefined : filter

function classesOf(containment: Containment): ClassNode[] {
  if (containment.kind !== 'class') return containment.terms.flatMap(classesOf)
  return [containment, ...(containment.contains ? classesOf(containment.contains.containment) : [])]
}

/** The classes that every row must have. */
function requiredClasses(containment: Containment): ClassNode[] {
  if (containment.kind !== 'class')
    return containment.kind === 'and' ? containment.terms.flatMap(requiredClasses) : []
  return [
    containment,
    ...(containment.contains && !containment.contains.isNegated
      ? requiredClasses(containment.contains.containment)
      : []),
  ]
}

/** The classes that no other class of FROM contains, except the EHR. */
const outermostClasses = (containment: Containment): ClassNode[] =>
  containment.kind === 'class' ? [containment] : containment.terms.flatMap(outermostClasses)

/** Whether the root, or anything in it, can be of this class; VERSION and FOLDER may enclose others. */
function canBeContainedIn(root: string, { rmType, contains }: ClassNode): boolean {
  const isFolder = rmType === 'FOLDER'
  if (!isVersionClass(rmType) && !isFolder) return canContain(root, rmType)
  if (contains === undefined) return !isFolder
  return (
    (contains.isNegated && !isFolder) ||
    outermostClasses(contains.containment).some((one) => canBeContainedIn(root, one))
  )
}

/** The filter that WHERE implies for the fields of a record. */
const whereFilter = (
  where: Condition | undefined,
  field: FieldResolver,
  types: ReadonlyMap<string, string>,
): DatabaseFilter | undefined =>
  conditionFilter(where, (left, operator, rightOperands) =>
    operator === '=' ? oneOfFilter(fieldOfOperand(left, field, types), rightOperands) : undefined,
  )

function fieldOfOperand(
  operand: Operand,
  field: FieldResolver,
  types: ReadonlyMap<string, string>,
): string | undefined {
  if (operand.kind !== 'path' || operand.predicate) return undefined
  return fieldOfPath(types.get(operand.variable), operand.parts, field)
}

function fieldOfPath(
  rmType: string | undefined,
  parts: readonly PathStep[],
  field: FieldResolver,
): string | undefined {
  if (rmType === undefined || parts.some(({ predicate }) => predicate)) return undefined
  return field(rmType, parts.map(({ attribute }) => attribute).join('/'))
}

function oneOfFilter(field: string | undefined, operands: readonly Operand[]): DatabaseFilter | undefined {
  if (field === undefined || operands.some(({ kind }) => kind !== 'literal')) return undefined
  const texts = operands.flatMap((one) => {
    const value = one.kind === 'literal' ? one.value : undefined
    if (typeof value !== 'string') return []
    // All versions of a composition are stored in one record.
    return [field === '_id' ? (value.split('::')[0] as string) : value]
  })
  return { [field]: texts.length === 1 ? texts[0] : { $in: texts } }
}

/** The filter that the predicate of a class implies. */
function classFilter({ rmType, predicate }: ClassNode, field: FieldResolver): DatabaseFilter | undefined {
  const filterOf = (one: Predicate): DatabaseFilter | undefined => {
    if (one.kind === 'node') return undefined
    if (one.kind !== 'comparison') return joinFilters(one, filterOf)
    if (one.operator !== '=' || one.to.kind === 'relative') return undefined
    return oneOfFilter(fieldOfPath(rmType, one.path, field), [one.to])
  }
  return predicate && filterOf(predicate)
}

/** The archetypes that at least one of the outermost classes needs. */
const archetypesFilter = (outermost: readonly ClassNode[]): DatabaseFilter | undefined =>
  anyOf(outermost.map(neededArchetypesFilter))

function neededArchetypesFilter(containment: Containment): DatabaseFilter | undefined {
  if (containment.kind !== 'class') return joinFilters(containment, neededArchetypesFilter)
  const { rmType, predicate, contains } = containment
  const inner = contains && !contains.isNegated ? neededArchetypesFilter(contains.containment) : undefined
  // The archetype of a folder is not that of a composition.
  const archetypeFilter = rmType === 'FOLDER' ? undefined : predicate && archetypeOfPredicate(predicate)
  return allOf([archetypeFilter, inner])
}

function archetypeOfPredicate(predicate: Predicate): DatabaseFilter | undefined {
  if (predicate.kind === 'and' || predicate.kind === 'or') return joinFilters(predicate, archetypeOfPredicate)
  const id = predicate.kind === 'node' ? constantValue(predicate.id) : undefined
  return typeof id === 'string' && id.startsWith('openEHR-') ? { archetypes: id } : undefined
}
