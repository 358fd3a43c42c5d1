/** A parsed query. Each node that an error may refer to has its offset in the text. */
export interface QueryTree {
  distinct: boolean
  columns: Column[]
  from: ClassNode
  where?: Condition
  orderBy: OrderBy[]
  limit?: number
  offset?: number
}

export interface OrderBy {
  operand: Path
  /** The index of the column, set by the checker. */
  column?: number
  descending: boolean
}

export interface Column {
  expression: Operand | AggregateCall
  /** The text of the expression in the query. */
  text: string
  alias?: string
}

export type LiteralValue = string | number | boolean | null

export interface Literal {
  kind: 'literal'
  value: LiteralValue
  position: number
}

/** `$name` */
export interface Parameter {
  kind: 'parameter'
  name: string
  position: number
}

export type Constant = Literal | Parameter

/** `o[at0001]/data/events[at0006]/time/value` */
export interface Path {
  kind: 'path'
  variable: string
  predicate?: Predicate
  parts: PathStep[]
  position: number
}

/** One step of a path: an attribute, and a predicate that selects its members. */
export interface PathStep {
  attribute: string
  predicate?: Predicate
}

export interface FunctionCall {
  kind: 'call'
  name: string
  arguments: Operand[]
  position: number
}

export type Operand = Constant | Path | FunctionCall

export interface AggregateCall {
  kind: 'aggregate'
  name: 'COUNT' | 'MIN' | 'MAX' | 'SUM' | 'AVG'
  distinct: boolean
  /** Missing for `*`. */
  path?: Path
  position: number
}

export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** `[openEHR-EHR-OBSERVATION.pulse.v2]`, `[at0004, 'Systolic']`, `[at0004 and name/value = $name]` */
export type Predicate =
  | { kind: 'node'; id: Constant; name?: Constant | CodeLiteral }
  | {
      kind: 'comparison'
      path: PathStep[]
      operator: Operator
      to: Constant | { kind: 'relative'; path: PathStep[] }
    }
  | { kind: 'and' | 'or'; terms: Predicate[] }

/** `snomed_ct::1234`, or a code of the archetype. */
export interface CodeLiteral {
  kind: 'code'
  terminology?: string
  code: string
}

export type Containment = ClassNode | { kind: 'and' | 'or'; terms: Containment[]; position: number }

/** `OBSERVATION o[…] CONTAINS …` */
export interface ClassNode {
  kind: 'class'
  rmType: string
  variable?: string
  predicate?: Predicate
  /** Only for a VERSION. */
  versions?: 'latest' | 'all'
  contains?: { isNegated: boolean; containment: Containment }
  position: number
}

export type Condition =
  | { kind: 'and' | 'or'; terms: Condition[] }
  | { kind: 'not'; term: Condition }
  | { kind: 'exists'; path: Path }
  | { kind: 'comparison'; left: Operand; operator: Operator; right: Operand }
  | { kind: 'like'; left: Operand; pattern: Constant }
  | { kind: 'matches'; left: Operand; values: Constant[] }

/** The content of a node as text: that of two nodes is the same if they differ only in their positions in the query. */
export function contentKey(node: unknown): string {
  if (typeof node !== 'object' || node === null) return JSON.stringify(node) ?? ''
  if (Array.isArray(node)) return `[${node.map(contentKey).join()}]`
  const members = Object.entries(node).filter(([name, value]) => name !== 'position' && value !== undefined)
  return `{${members.map(([name, value]) => `${name}:${contentKey(value)}`).join()}}`
}
