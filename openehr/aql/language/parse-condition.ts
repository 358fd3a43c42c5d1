import { lookUp } from '../../../schemas/validation/look-up.ts'
import { TextSyntaxError } from '../../formats/text-syntax-error.ts'
import type { Condition, Constant, FunctionCall, Operand } from './ast.ts'
import { parseOperator, parsePath } from './parse-path.ts'
import type { TokenReader } from './token-reader.ts'

/** Parses the condition after WHERE. */
export const parseCondition = (reader: TokenReader): Condition =>
  reader.readLogical(
    () => parseConditionTerm(reader),
    (kind, terms) => ({ kind, terms }),
  )

function parseConditionTerm(reader: TokenReader): Condition {
  if (reader.word('NOT')) return { kind: 'not', term: reader.readNested(() => parseConditionTerm(reader)) }
  if (reader.word('EXISTS')) return { kind: 'exists', path: parsePath(reader) }
  return reader.readEnclosed('(', () => parseCondition(reader)) ?? parseComparison(reader)
}

function parseComparison(reader: TokenReader): Condition {
  const left = parseOperand(reader)
  if (reader.word('LIKE')) return { kind: 'like', left, pattern: parseLikePattern(reader) }
  if (reader.word('MATCHES')) return { kind: 'matches', left, values: parseMatchesValues(reader) }
  if (reader.peek().kind !== 'symbol') reader.fail('a comparison, LIKE or MATCHES')
  return { kind: 'comparison', left, operator: parseOperator(reader), right: parseOperand(reader) }
}

function parseLikePattern(reader: TokenReader): Constant {
  const { kind } = reader.peek()
  const constant = kind === 'string' || kind === 'parameter' ? reader.readConstant() : undefined
  return constant ?? reader.fail('a pattern in quotes, or a parameter')
}

/** `{1, 2, $more}`, or a parameter that is a list. */
function parseMatchesValues(reader: TokenReader): Constant[] {
  if (reader.peek().kind === 'parameter') return [reader.readConstant() as Constant]
  if (reader.isWord('TERMINOLOGY')) refuseTerminology(reader)
  reader.expect('{')
  const constants = reader.readList(() => {
    if (reader.isWord('TERMINOLOGY')) refuseTerminology(reader)
    return reader.readConstant() ?? reader.fail('a value, or a parameter')
  })
  reader.expect('}')
  return constants
}

function refuseTerminology(reader: TokenReader): never {
  throw new TextSyntaxError(reader.peek().position, 'TERMINOLOGY is not supported: list the codes')
}

/** The permitted number of arguments of each function. */
const FUNCTION_ARITIES: Readonly<Record<string, readonly [least: number, most: number]>> = {
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

/** A path, literal, parameter or function call. */
export function parseOperand(reader: TokenReader): Operand {
  const constant = reader.readConstant()
  if (constant) return constant
  if (reader.isSymbol('(', 1)) return parseFunctionCall(reader)
  if (!reader.isName()) reader.fail('a path, a value or a function')
  return parsePath(reader)
}

function parseFunctionCall(reader: TokenReader): FunctionCall {
  const { kind, text, position } = reader.peek()
  const name = text.toUpperCase()
  if (name === 'TERMINOLOGY') refuseTerminology(reader)
  const arity = kind === 'word' ? lookUp(FUNCTION_ARITIES, name) : undefined
  if (arity === undefined) reader.fail(`one of the functions ${Object.keys(FUNCTION_ARITIES).join(', ')}`)
  reader.take()
  reader.expect('(')
  const operands = reader.isSymbol(')')
    ? []
    : reader.readNested(() => reader.readList(() => parseOperand(reader)))
  reader.expect(')')
  const [least, most] = arity
  if (operands.length < least || operands.length > most)
    throw new TextSyntaxError(
      position,
      `${name} needs ${least === most ? least : `${least} to ${most}`} arguments, not ${operands.length}`,
    )
  return { kind: 'call', name, arguments: operands, position }
}
