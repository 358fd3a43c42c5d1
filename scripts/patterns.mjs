/** Checks regular expressions for slow ones. `npm run patterns -- --help` explains the rule. */
import { RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { getFirstConsumedChar } from 'regexp-ast-analysis'
import { analyse } from 'scslre'
import ts from 'typescript'
import { isTest, PROGRAMS, parse, pathsIn, visit } from './sources.mjs'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run patterns

Reads the regular expressions of the product, and fails if one of them can take more than linear time, because one
request with such a text would hold all others. Write it without the ambiguity. The alternatives of a repetition begin
with different characters: (?:ab?)* and not (?:a|ab)*. A bound on the length of the text does not count, since the next
caller may not have it.
`)

const REASONS = {
  Move: 'tries each start of a run, and each time reads to its end',
  Trade: 'can divide a text between two repetitions in many ways',
  Self: 'can divide a text between the rounds of one repetition in many ways',
}

const isRepeated = (node) =>
  node.parent !== null && ((node.type === 'Quantifier' && node.max > 1) || isRepeated(node.parent))

const beginAlike = (alternatives, flags) => {
  const firsts = alternatives.map((each) => getFirstConsumedChar(each, 'ltr', flags).char)
  return firsts.some((one, i) => firsts.slice(i + 1).some((other) => !one.isDisjointWith(other)))
}

/** Alternatives that begin alike double the ways to match with each round of the repetition. */
function hasAlternativesThatBeginAlike({ pattern, flags }) {
  let isFound = false
  const look = (group) => {
    isFound ||= isRepeated(group) && beginAlike(group.alternatives, flags)
  }
  visitRegExpAST(pattern, { onGroupEnter: look, onCapturingGroupEnter: look })
  return isFound
}

/** Why an expression is slow, or undefined. */
function findFault(text) {
  const literal = new RegExpParser().parseLiteral(text)
  const [report] = analyse(literal, { maxReports: 1 }).reports
  if (report) return REASONS[report.type]
  return hasAlternativesThatBeginAlike(literal) ? 'repeats alternatives that begin alike' : undefined
}

const isOfSchema = ({ parent }) => ts.isPropertyAssignment(parent) && parent.name.getText() === 'pattern'

/** The expression that a node contains, or undefined. One that is composed at run time has no source to read. */
function literalOf(node) {
  if (ts.isRegularExpressionLiteral(node)) return node.text
  // Ajv compiles the patterns of schemas with this flag.
  return ts.isStringLiteralLike(node) && isOfSchema(node) ? String(new RegExp(node.text, 'u')) : undefined
}

function checkPatterns(file) {
  const findings = []
  visit(file, (node) => {
    const literal = literalOf(node)
    const fault = literal && findFault(literal)
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
    if (fault) findings.push(`${file.fileName}:${line + 1}: ${literal} ${fault}`)
  })
  return findings
}

const files = PROGRAMS.flatMap(pathsIn)
  .filter((path) => !isTest(path))
  .map(parse)
const findings = files.flatMap(checkPatterns)
if (files.length === 0) findings.push('No files were found: correct PROGRAMS in scripts/sources.mjs')
for (const finding of findings) process.stderr.write(`${finding}\n`)
process.exitCode = findings.length > 0 ? 1 : 0
