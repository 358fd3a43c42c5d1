import { TextSyntaxError } from '../../formats/text-syntax-error.ts'
import type { CodeLiteral, Constant, Operator, Path, PathStep, Predicate } from './ast.ts'
import type { TokenReader } from './token-reader.ts'

const OPERATOR_SYMBOLS: Readonly<Record<string, Operator>> = {
  '=': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}

export function parseOperator(reader: TokenReader): Operator {
  const { kind, text } = reader.peek()
  const operator = kind === 'symbol' ? OPERATOR_SYMBOLS[text] : undefined
  if (operator === undefined) reader.fail('=, !=, <, <=, > or >=')
  reader.take()
  return operator
}

/** `o[at0001]/data[at0001]/events` */
export function parsePath(reader: TokenReader): Path {
  const { position } = reader.peek()
  const variable = reader.takeName('a path')
  const predicate = parsePredicate(reader)
  const parts = reader.symbol('/') ? parseSteps(reader) : []
  return { kind: 'path', variable, ...(predicate && { predicate }), parts, position }
}

/** The steps after a variable, or within a predicate. */
function parseSteps(reader: TokenReader): PathStep[] {
  const parts: PathStep[] = []
  do {
    const { kind, text } = reader.peek()
    // Attributes may have the names of keywords: `order`, `limit`.
    if (kind !== 'word' && !(kind === 'code' && /^\w+$/.test(text))) reader.fail('an attribute')
    const attribute = reader.take().text
    const predicate = parsePredicate(reader)
    parts.push({ attribute, ...(predicate && { predicate }) })
  } while (reader.symbol('/'))
  return parts
}

/** Parses an optional predicate in brackets. */
export const parsePredicate = (reader: TokenReader): Predicate | undefined =>
  reader.readEnclosed('[', () => parsePredicateAlternatives(reader))

const parsePredicateAlternatives = (reader: TokenReader): Predicate =>
  reader.readLogical(
    () => parseSinglePredicate(reader),
    (kind, terms) => ({ kind, terms }),
  )

function parseSinglePredicate(reader: TokenReader): Predicate {
  const predicate = reader.readEnclosed('(', () => parsePredicateAlternatives(reader))
  if (predicate) return predicate
  const { kind, text, position } = reader.peek()
  if (kind === 'parameter')
    return parseNamedPredicate(reader, { kind: 'parameter', name: reader.take().text, position })
  if (kind === 'code' && !reader.isSymbol('/', 1)) {
    reader.take()
    return parseNamedPredicate(reader, { kind: 'literal', value: text, position })
  }
  if (kind !== 'word') reader.fail('an archetype id, a node id, a parameter or a comparison')
  return parsePredicateComparison(reader)
}

function parseNamedPredicate(reader: TokenReader, id: Constant): Predicate {
  if (!reader.symbol(',')) return { kind: 'node', id }
  const { kind, text, position } = reader.peek()
  if (kind === 'code') {
    reader.take()
    const [code = '', terminology] = text.split('::').reverse()
    const name: CodeLiteral = { kind: 'code', code, ...(terminology !== undefined && { terminology }) }
    return { kind: 'node', id, name }
  }
  const name = reader.readConstant()
  if (name === undefined || (name.kind === 'literal' && typeof name.value !== 'string'))
    reader.fail('the name of the node', { ...reader.peek(), position })
  return { kind: 'node', id, name }
}

function parsePredicateComparison(reader: TokenReader): Predicate {
  const parts = parseSteps(reader)
  if (reader.isWord('MATCHES'))
    throw new TextSyntaxError(
      reader.peek().position,
      'regular expressions are not supported: use =, !=, <, <=, > or >=',
    )
  const operator = parseOperator(reader)
  const { kind, text, position } = reader.peek()
  if (kind === 'code') {
    reader.take()
    return { kind: 'comparison', path: parts, operator, to: { kind: 'literal', value: text, position } }
  }
  const to = reader.readConstant() ?? { kind: 'relative' as const, path: parseSteps(reader) }
  return { kind: 'comparison', path: parts, operator, to }
}
