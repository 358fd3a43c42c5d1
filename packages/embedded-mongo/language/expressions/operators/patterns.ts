/** $regexMatch, $regexFind and $regexFindAll. */
import type { Document } from 'bson'
import { Int32 } from 'bson'
import { isNullish } from '../../../values/bson-values.ts'
import { CommandError, fail } from '../../../values/errors.ts'
import type { Expression as Compute, ExpressionOperator } from '../expression.ts'
import { compileRegex, isRegex, type RegexMatch, type RegularExpression } from '../regex.ts'
import { checkEvaluationTime, compileNamedOperands, typeName, withNamedOperands } from './operands.ts'

const codes = { object: 51103, unknown: 31024, missing: { input: 31022, regex: 31023 } }

/** The error codes of these operators for a bad pattern or option. */
const ERROR_CODES: Record<number, number> = { 51091: 51111, 2: 51109 }

const defineSearch =
  <T>(nothing: T, search: (text: string, expression: RegularExpression) => T): ExpressionOperator =>
  (operand, compiler, name) => {
    const operands = withNamedOperands(operand, name, ['input', 'regex'], ['options'], codes)
    const { input, regex, options } = compileNamedOperands(operands, compiler) as Record<
      'input' | 'regex',
      Compute
    > & {
      options?: Compute
    }
    let last: { pattern: string; flags: string; expression: RegularExpression } | undefined
    return (scope) => {
      const text = input(scope)
      const [pattern, flags] = source(regex(scope), options?.(scope), name)
      if (!isNullish(text) && typeof text !== 'string')
        return fail(51104, `${name} needs 'input' to be of type string, not ${typeName(text)}`)
      if (pattern === undefined) return nothing
      if (last?.pattern !== pattern || last.flags !== flags)
        last = { pattern, flags, expression: compilePattern(pattern, flags, name) }
      return isNullish(text) ? nothing : search(text as string, last.expression)
    }
  }

const source = (regex: unknown, options: unknown, name: string): [string | undefined, string] => {
  if (!isNullish(options) && typeof options !== 'string')
    return fail(51106, `${name} needs 'options' to be of type string`)
  if (isNullish(regex)) return [undefined, '']
  if (isRegex(regex)) {
    if (regex.options && !isNullish(options))
      fail(51107, `${name}: found regex option(s) specified in both 'regex' and 'option' fields`)
    return [regex.pattern, (options as string) || regex.options]
  }
  if (typeof regex !== 'string') return fail(51105, `${name} needs 'regex' to be of type string or regex`)
  if (String(options ?? '').includes('\0'))
    fail(51110, `${name}: regular expression options cannot contain an embedded null byte`)
  return [regex, (options as string) ?? '']
}

/** The limit is lower than that of a filter's pattern. */
const MAX_PATTERN_LENGTH = 16 * 1024

const compilePattern = (pattern: string, flags: string, name: string): RegularExpression => {
  if (pattern.length > MAX_PATTERN_LENGTH) fail(51111, `${name}: the pattern is too long`)
  try {
    return compileRegex(pattern, flags)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    throw new CommandError(ERROR_CODES[error.code] ?? error.code, `${name}: ${error.message}`)
  }
}

const matchDocument = (text: string, { match, at, captures }: RegexMatch): Document => ({
  match,
  idx: new Int32(Array.from(text.slice(0, at)).length),
  captures,
})

const findAll = (text: string, expression: RegularExpression): Document[] => {
  const matchDocuments: Document[] = []
  let from = 0
  do {
    checkEvaluationTime()
    const regexMatch = expression.find(text, from)
    if (!regexMatch) break
    matchDocuments.push(matchDocument(text, regexMatch))
    // After an empty match it continues after the next character, which may have two UTF-16 units.
    from =
      regexMatch.at + (regexMatch.match.length || ((text.codePointAt(regexMatch.at) ?? 0) > 0xffff ? 2 : 1))
  } while (from < text.length)
  return matchDocuments
}

export const patterns: Record<string, ExpressionOperator> = {
  $regexMatch: defineSearch(false, (text, expression) => expression.test(text)),
  $regexFind: defineSearch<Document | null>(null, (text, expression) => {
    const regexMatch = expression.find(text, 0)
    return regexMatch ? matchDocument(text, regexMatch) : null
  }),
  $regexFindAll: defineSearch<Document[]>([], findAll),
}
