import { TextFault } from '../../formats/text-fault.ts'
import type { Condition, Constant, FunctionCall, Operand } from './ast.ts'
import { operator, path } from './paths.ts'
import type { Reader } from './reader.ts'

/** What stands behind WHERE. */
export const condition = (reader: Reader): Condition =>
  reader.joined(
    'OR',
    () =>
      reader.joined(
        'AND',
        () => term(reader),
        (terms) => ({ kind: 'and', terms }),
      ),
    (terms) => ({ kind: 'or', terms }),
  )

function term(reader: Reader): Condition {
  if (reader.word('NOT')) return { kind: 'not', term: reader.nested(() => term(reader)) }
  if (reader.word('EXISTS')) return { kind: 'exists', path: path(reader) }
  if (!reader.symbol('(')) return comparison(reader)
  const found = reader.nested(() => condition(reader))
  reader.need(')')
  return found
}

function comparison(reader: Reader): Condition {
  const left = operand(reader)
  if (reader.word('LIKE')) return { kind: 'like', left, pattern: pattern(reader) }
  if (reader.word('MATCHES')) return { kind: 'matches', left, values: values(reader) }
  if (reader.peek().kind !== 'symbol') reader.fail('a comparison, LIKE or MATCHES')
  return { kind: 'comparison', left, operator: operator(reader), right: operand(reader) }
}

function pattern(reader: Reader): Constant {
  const { kind } = reader.peek()
  const found = kind === 'string' || kind === 'parameter' ? reader.constant() : undefined
  return found ?? reader.fail('a pattern in quotes, or a parameter')
}

/** `{1, 2, $more}`, or a parameter that is a list. */
function values(reader: Reader): Constant[] {
  if (reader.peek().kind === 'parameter') return [reader.constant() as Constant]
  if (reader.isWord('TERMINOLOGY')) refuseTerminology(reader)
  reader.need('{')
  const found = reader.listed(() => {
    if (reader.isWord('TERMINOLOGY')) refuseTerminology(reader)
    return reader.constant() ?? reader.fail('a value, or a parameter')
  })
  reader.need('}')
  return found
}

function refuseTerminology(reader: Reader): never {
  throw new TextFault(reader.peek().at, 'TERMINOLOGY is not offered: expected the codes themselves')
}

/** How many arguments a function takes. */
const FUNCTIONS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  LENGTH: [1, 1],
  CONTAINS: [2, 2],
  POSITION: [2, 2],
  SUBSTRING: [2, 3],
  CONCAT: [1, 20],
  CONCAT_WS: [2, 20],
  ABS: [1, 1],
  MOD: [2, 2],
  CEIL: [1, 1],
  FLOOR: [1, 1],
  ROUND: [1, 2],
  NOW: [0, 0],
  CURRENT_DATE_TIME: [0, 0],
  CURRENT_DATE: [0, 0],
  CURRENT_TIME: [0, 0],
  CURRENT_TIMEZONE: [0, 0],
}

/** A path, a literal, a parameter or a function. */
export function operand(reader: Reader): Operand {
  const constant = reader.constant()
  if (constant) return constant
  if (reader.isSymbol('(', 1)) return functionCall(reader)
  if (!reader.isName()) reader.fail('a path, a value or a function')
  return path(reader)
}

function functionCall(reader: Reader): FunctionCall {
  const { kind, text, at } = reader.peek()
  const name = text.toUpperCase()
  if (name === 'TERMINOLOGY') refuseTerminology(reader)
  const arity = kind === 'word' ? FUNCTIONS[name] : undefined
  if (arity === undefined) reader.fail('a function that there is')
  reader.take()
  reader.need('(')
  const given = reader.isSymbol(')') ? [] : reader.nested(() => reader.listed(() => operand(reader)))
  reader.need(')')
  const [least, most] = arity
  if (given.length < least || given.length > most)
    throw new TextFault(at, `expected ${least === most ? least : `${least} to ${most}`} arguments of ${name}`)
  return { kind: 'call', name, arguments: given, at }
}
