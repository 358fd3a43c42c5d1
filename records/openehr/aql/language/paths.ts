import { TextFault } from '../../formats/text-fault.ts'
import type { Code, Constant, Operator, Path, PathStep, Predicate } from './ast.ts'
import type { Reader } from './reader.ts'

const OPERATORS: Readonly<Record<string, Operator>> = {
  '=': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}

export function operator(reader: Reader): Operator {
  const { kind, text } = reader.peek()
  const found = kind === 'symbol' ? OPERATORS[text] : undefined
  if (found === undefined) reader.fail('=, !=, <, <=, > or >=')
  reader.take()
  return found
}

/** `o[at0001]/data[at0001]/events` */
export function path(reader: Reader): Path {
  const { at } = reader.peek()
  const variable = reader.name('a path')
  const predicate = predicateOf(reader)
  const parts = reader.symbol('/') ? partsOf(reader) : []
  return { kind: 'path', variable, ...(predicate && { predicate }), parts, at }
}

/** The steps behind a variable, or within a predicate. */
function partsOf(reader: Reader): PathStep[] {
  const parts: PathStep[] = []
  do {
    const { kind, text } = reader.peek()
    // Attributes may be called as words of the language are: `order`, `limit`.
    if (kind !== 'word' && !(kind === 'code' && /^\w+$/.test(text))) reader.fail('an attribute')
    const attribute = reader.take().text
    const predicate = predicateOf(reader)
    parts.push({ attribute, ...(predicate && { predicate }) })
  } while (reader.symbol('/'))
  return parts
}

/** What stands in brackets, if anything does. */
export function predicateOf(reader: Reader): Predicate | undefined {
  if (!reader.symbol('[')) return undefined
  const found = reader.nested(() => alternatives(reader))
  reader.need(']')
  return found
}

const alternatives = (reader: Reader): Predicate =>
  reader.joined(
    'OR',
    () =>
      reader.joined(
        'AND',
        () => single(reader),
        (terms) => ({ kind: 'and', terms }),
      ),
    (terms) => ({ kind: 'or', terms }),
  )

function single(reader: Reader): Predicate {
  if (reader.symbol('(')) {
    const found = reader.nested(() => alternatives(reader))
    reader.need(')')
    return found
  }
  const { kind, text, at } = reader.peek()
  if (kind === 'parameter') return named(reader, { kind: 'parameter', name: reader.take().text, at })
  if (kind === 'code' && !reader.isSymbol('/', 1)) {
    reader.take()
    return named(reader, { kind: 'literal', value: text, at })
  }
  if (kind !== 'word') reader.fail('an archetype id, a node id, a parameter or a comparison')
  return comparison(reader)
}

function named(reader: Reader, id: Constant): Predicate {
  if (!reader.symbol(',')) return { kind: 'node', id }
  const { kind, text, at } = reader.peek()
  if (kind === 'code') {
    reader.take()
    const [code = '', terminology] = text.split('::').reverse()
    const name: Code = { kind: 'code', code, ...(terminology !== undefined && { terminology }) }
    return { kind: 'node', id, name }
  }
  const name = reader.constant()
  if (name === undefined || (name.kind === 'literal' && typeof name.value !== 'string'))
    reader.fail('the name of the node', { ...reader.peek(), at })
  return { kind: 'node', id, name }
}

function comparison(reader: Reader): Predicate {
  const parts = partsOf(reader)
  if (reader.isWord('MATCHES'))
    throw new TextFault(
      reader.peek().at,
      'regular expressions are not offered: expected =, !=, <, <=, > or >=',
    )
  const compared = operator(reader)
  const { kind, text, at } = reader.peek()
  if (kind === 'code') {
    reader.take()
    return { kind: 'comparison', path: parts, operator: compared, to: { kind: 'literal', value: text, at } }
  }
  const to = reader.constant() ?? { kind: 'relative' as const, path: partsOf(reader) }
  return { kind: 'comparison', path: parts, operator: compared, to }
}
