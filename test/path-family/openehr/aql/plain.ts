import type {
  ClassNode,
  Condition,
  Containment,
  Operand,
  Path,
  PathStep,
  Predicate,
  QueryTree,
} from '../../../../openehr/aql/language/ast.ts'
import { createLikeMatcher } from '../../../../openehr/aql/terms/like.ts'
import { StepBudget } from '../../../../openehr/aql/terms/step-budget.ts'
import { compareTerms, type Term, textOfTerm } from '../../../../openehr/aql/terms/terms.ts'
import type { RmObject } from '../../../../openehr/rm/canonical-json.ts'
import { findRmClass, isSubclassOf } from '../../../../schemas/openehr/rm-classes.ts'

/** An EHR with its whole content. */
export interface PlainEhr {
  object: RmObject
  /** Its compositions and its status. */
  roots: RmObject[]
}

type Bound = Map<ClassNode, RmObject>
/** The value of each prefix of a path, by its text. */
type Steps = Map<string, Term>

/**
 * The meaning of a query, as simply as possible: all EHRs, without indexes, plans or time slices. Only the
 * comparison of two values uses the same code.
 */
export function plainRows({ from, where, columns }: QueryTree, ehrs: readonly PlainEhr[]): string[] {
  const paths = [
    ...columns.flatMap(({ expression }) => (expression.kind === 'path' ? [expression] : [])),
    ...pathsOf(where),
  ]
  return ehrs.flatMap((ehr) => {
    const root = { _type: 'ROOT', members: [{ ...ehr.object, '': ehr.roots }] } as unknown as RmObject
    return ways(from, root).flatMap((bound) =>
      steps(paths, variablesOf(bound))
        .filter((row) => where === undefined || truth(where, row, variablesOf(bound)) === true)
        .map((row) =>
          JSON.stringify(
            columns.map(({ expression }) =>
              jsonOf(termOf(expression as Operand, row, variablesOf(bound)).value),
            ),
          ),
        ),
    )
  })
}

/** An EHR is shown without its content. */
function jsonOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null
  const { '': _, ...rest } = value as Record<string, unknown>
  return Array.isArray(value) ? value : rest
}

const variablesOf = (bound: Bound): Map<string, RmObject> =>
  new Map(
    [...bound].flatMap(([{ variable }, object]) => (variable === undefined ? [] : [[variable, object]])),
  )

/** All objects below an object; or only those of its own archetype. */
function below(object: RmObject, isLocal = false): RmObject[] {
  const isEhr = object._type === 'EHR'
  return Object.entries(object)
    .filter(([name]) => !isEhr || name === '')
    .flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
    .filter((value): value is RmObject => typeof value === 'object' && value !== null)
    .filter((value) => !isLocal || !String(value.archetype_node_id).startsWith('openEHR-'))
    .flatMap((value) => [value, ...below(value, isLocal)])
}

/** The archetype or node that a class names: `openEHR-`, `at`; undefined: neither. */
function namedNode(predicate: Predicate | undefined): string | undefined {
  if (predicate?.kind === 'node') return predicate.id.kind === 'literal' ? `${predicate.id.value}` : undefined
  if (predicate?.kind !== 'and' && predicate?.kind !== 'or') return undefined
  const nodeIds = predicate.terms.map(namedNode)
  return predicate.kind === 'or' && nodeIds.includes(undefined) ? undefined : nodeIds.find(Boolean)
}

/** All bindings of a FROM expression to objects below an object, which is bound to the class around it. */
function ways(what: Containment, object: RmObject, around?: ClassNode): Bound[] {
  if (what.kind === 'class') return waysOfClass(what, object, around)
  const waysOfTerms = what.terms.map((term) => ways(term, object, around))
  return what.kind === 'and'
    ? product(waysOfTerms)
    : product(
        waysOfTerms.filter((some) => some.length > 0),
        true,
      )
}

function waysOfClass(what: ClassNode, object: RmObject, around: ClassNode | undefined): Bound[] {
  const isLocal = namedNode(what.predicate)?.startsWith('at') && namedNode(around?.predicate) !== undefined
  return below(object, isLocal)
    .filter(({ _type }) => _type === what.rmType || isSubclassOf(_type, what.rmType))
    .filter((one) => !what.predicate || accepts(what.predicate, one))
    .flatMap((one) => {
      const own: Bound = new Map([[what, one]])
      if (!what.contains) return [own]
      const inner = ways(what.contains.containment, one, what)
      if (what.contains.isNegated) return inner.length === 0 ? [own] : []
      return inner.map((matches) => new Map([...own, ...matches]))
    })
}

function product(lists: Bound[][], isEmptyNothing = false): Bound[] {
  if (isEmptyNothing && lists.length === 0) return []
  return lists.reduce<Bound[]>(
    (products, list) => products.flatMap((one) => list.map((other) => new Map([...one, ...other]))),
    [new Map()],
  )
}

const literal = (part: unknown): string =>
  JSON.stringify(part, (name, value) => (name === 'position' ? undefined : value))

/** The prefixes of a path, each with its text. */
const beginnings = ({
  variable,
  parts,
}: Path): { key: string; before: string; part: PathStep; variable: string }[] =>
  parts.map((part, i) => ({
    key: literal([variable, parts.slice(0, i + 1)]),
    before: literal([variable, parts.slice(0, i)]),
    part,
    variable,
  }))

/** Whether a path from a member of an earlier step leads to a node, whatever values the node has. */
function leads(member: unknown, parts: readonly PathStep[]): boolean {
  const [first, ...rest] = parts
  if (!first) return true
  const { _type = '' } = (member ?? {}) as Partial<RmObject>
  const type = findRmClass(_type)?.attributes.get(first.attribute)?.type ?? ''
  const isNode = isSubclassOf(type, 'LOCATABLE') || /^EVENT_CONTEXT$|^FEEDER_AUDIT|_DETAILS$/.test(type)
  return !isNode || members(member, first).some((one) => leads(one, rest))
}

/**
 * All combinations of values along the paths; equal prefixes take equal values. A member from which no path
 * leads to a node is missing, if there are others.
 */
function steps(paths: readonly Path[], variables: ReadonlyMap<string, RmObject>): Steps[] {
  const beginningsByKey = new Map(paths.flatMap(beginnings).map((one) => [one.key, one]))
  const reaches = (key: string, member: unknown): boolean =>
    paths.some((path) => {
      const position = beginnings(path).findIndex((one) => one.key === key)
      return position >= 0 && leads(member, path.parts.slice(position + 1))
    })
  let rows: Steps[] = [new Map()]
  for (const { key, before, part, variable } of beginningsByKey.values())
    rows = rows.flatMap((row) => {
      const parent = row.has(before) ? row.get(before)?.value : variables.get(variable)
      const values = members(parent, part)
      const reachable = values.length > 1 ? values.filter((member) => reaches(key, member)) : values
      const terms = reachable.length > 0 ? reachable : [undefined]
      return terms.map(
        (value) => new Map([...row, [key, { value, parent: parent as RmObject, attribute: part.attribute }]]),
      )
    })
  return rows
}

function members(parent: unknown, { attribute, predicate }: PathStep): unknown[] {
  const value = (parent as Record<string, unknown> | undefined)?.[attribute]
  const values = value === undefined ? [] : Array.isArray(value) ? value : [value]
  return predicate
    ? values.filter((one) => typeof one === 'object' && accepts(predicate, one as RmObject))
    : values
}

const followPath = (object: unknown, parts: readonly PathStep[]): Term[] =>
  parts.reduce<Term[]>(
    (terms, part) =>
      terms.flatMap(({ value }) =>
        members(value, part).map((one) => ({
          value: one,
          parent: value as RmObject,
          attribute: part.attribute,
        })),
      ),
    [{ value: object }],
  )

function accepts(predicate: Predicate, object: RmObject): boolean {
  if (predicate.kind === 'comparison') {
    const { to } = predicate
    const value = to.kind === 'literal' ? to.value : undefined
    return followPath(object, predicate.path).some(
      (term) => compareTerms(term, predicate.operator, { value }) === true,
    )
  }
  if (predicate.kind === 'node') {
    const { id, name } = predicate
    const isNode = id.kind === 'literal' && object.archetype_node_id === id.value
    const nodeName = (object.name as RmObject | undefined)?.value
    return isNode && (name === undefined || (name.kind === 'literal' && nodeName === name.value))
  }
  const verdicts = predicate.terms.map((term) => accepts(term, object))
  return predicate.kind === 'and' ? !verdicts.includes(false) : verdicts.includes(true)
}

function termOf(operand: Operand, row: Steps, variables: ReadonlyMap<string, RmObject>): Term {
  if (operand.kind === 'literal') return { value: operand.value }
  if (operand.kind !== 'path') return { value: undefined }
  if (operand.parts.length === 0) return { value: variables.get(operand.variable) }
  return row.get(literal([operand.variable, operand.parts])) ?? { value: undefined }
}

function truth(
  condition: Condition,
  row: Steps,
  variables: ReadonlyMap<string, RmObject>,
): boolean | undefined {
  const truthOf = (one: Condition) => truth(one, row, variables)
  const value = (operand: Operand) => termOf(operand, row, variables)
  switch (condition.kind) {
    case 'and': {
      const truths = condition.terms.map(truthOf)
      return truths.includes(false) ? false : truths.includes(undefined) ? undefined : true
    }
    case 'or': {
      const truths = condition.terms.map(truthOf)
      return truths.includes(true) ? true : truths.includes(undefined) ? undefined : false
    }
    case 'not': {
      const operandTruth = truthOf(condition.term)
      return operandTruth === undefined ? undefined : !operandTruth
    }
    case 'exists': {
      const { variable, parts } = condition.path
      const lastIndex = beginnings(condition.path).findLastIndex(({ key }) => row.has(key))
      const from =
        lastIndex < 0
          ? variables.get(variable)
          : row.get(literal([variable, parts.slice(0, lastIndex + 1)]))?.value
      return followPath(from, parts.slice(lastIndex + 1)).some((term) => term.value !== undefined)
    }
    case 'comparison':
      return compareTerms(value(condition.left), condition.operator, value(condition.right))
    case 'like': {
      const text = textOfTerm(value(condition.left))
      const pattern = condition.pattern.kind === 'literal' ? String(condition.pattern.value) : ''
      return text === undefined ? undefined : createLikeMatcher(pattern, new StepBudget())(text)
    }
    case 'matches': {
      const term = value(condition.left)
      if (term.value === undefined) return undefined
      return condition.values.some(
        (one) => one.kind === 'literal' && compareTerms(term, '=', { value: one.value }) === true,
      )
    }
  }
}

function pathsOf(condition: Condition | undefined): Path[] {
  switch (condition?.kind) {
    case 'and':
    case 'or':
      return condition.terms.flatMap(pathsOf)
    case 'not':
      return pathsOf(condition.term)
    case 'comparison':
      return [condition.left, condition.right].flatMap((one) => (one.kind === 'path' ? [one] : []))
    case 'like':
    case 'matches':
      return condition.left.kind === 'path' ? [condition.left] : []
    default:
      return []
  }
}
