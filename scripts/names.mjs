/** Checks the names in code, tests and documents. `npm run names -- --help` explains the rules. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import ts from 'typescript'
import { isTest, PROGRAMS, parse, pathsIn, visit } from './sources.mjs'

const HELP = `Usage: npm run names

Reads the product, its tests and its documents, and fails if:

  - two files of a program (the service, the client, the console) export different things by the same name
  - a constant of time does not say its unit (_MS or _S) or what it limits, or has two values by the same name
  - the name of a limit does not begin with MAX_ or MIN_
  - no export of a file resembles the file's name
  - the whole name of a variable, parameter or private member is a participle, preposition or pronoun, such as "known", "of" or "others"; in
    tests, only "all", "found", "late" and "others" are refused
  - a test title does not begin with a verb or the subject
  - a document names code, as in \`createPlan\`, that no source contains
`
const TESTS = ['packages', 'test']

/** Files whose exports do not resemble their name, with the reason. */
const FILES_BY_SUBJECT = new Map(
  Object.entries({
    'an entry of the package, named in its package.json': [
      'client/index.ts',
      'packages/embedded-mongo/index.ts',
      'packages/embedded-mongo/matcher.ts',
      'packages/embedded-mongo/testing.ts',
    ],
    'several constants of one subject': ['schemas/time/durations.ts'],
    'many functions of one subject': [
      'packages/embedded-mongo/language/expressions/arithmetic.ts',
      'packages/embedded-mongo/language/expressions/operators/dates/calendar.ts',
      'records/measurements/quantities/quantities.ts',
      'console/src/model/health-record.ts',
      'schemas/common.ts',
    ],
    'named by the standard or the term of the field': [
      'openehr/aql/language/ast.ts',
      'openehr/rm/iso8601.ts',
      'console/src/browser/router.tsx',
    ],
    'each export has the name of an update operator': [
      'packages/embedded-mongo/language/updates/array-updates.ts',
    ],
  }).flatMap(([reason, paths]) => paths.map((path) => [path, reason])),
)

const findings = []
const report = (file, node, message) => {
  const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
  findings.push(`${file.fileName}:${line + 1}: ${message}`)
}

const namesIn = (name) => (ts.isIdentifier(name) ? [name] : name.elements.flatMap((one) => namesIn(one.name)))
const isExported = (node) => node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true

/** The identifiers that a statement exports; `declared`: without those of other modules. */
function exportedNames(statement, declared) {
  if (
    ts.isExportDeclaration(statement) &&
    statement.exportClause &&
    ts.isNamedExports(statement.exportClause)
  )
    return declared && statement.moduleSpecifier
      ? []
      : statement.exportClause.elements.map(({ name }) => name)
  if (!isExported(statement)) return []
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => namesIn(name))
  return statement.name ? [statement.name] : []
}

function checkExports(files) {
  const firstFiles = new Map()
  for (const file of files)
    for (const name of file.statements.flatMap((statement) => exportedNames(statement, true))) {
      const first = firstFiles.get(name.text) ?? file
      firstFiles.set(name.text, first)
      if (first !== file)
        report(file, name, `${first.fileName} exports ${name.text}, too: rename one of them by what it is`)
    }
}

const TIME_WORDS =
  /(^|_)(AGE|DAYS?|DEADLINE|DELAY|DURATION|HOURS?|INTERVAL|LEASE|LIFETIME|MINUTES?|PERIOD|RETENTION|SECONDS?|TIMEOUT|TTL|WAIT)(_|$)/
const TIME_OPTIONS = /(MS|Ms|[tT]imeout|[iI]nterval|ttl|maxAge|Seconds|Duration)$/
const CLOCKS = /\b(Date\.now|performance\.now|getTime|clock)\(/
/** A length of time that has no purpose of its own, or a count per length of time, or days and years. */
const OTHER_UNITS = /^(DAY|HOUR|MINUTE|SECOND)_(MS|S)$|_PER_|_(DAYS|YEARS)$/

const isConstant = (name) => ts.isIdentifier(name) && /^[A-Z][A-Z0-9_]*$/.test(name.text)

/** A number, a sum or product of numbers, or other constants. */
const isNumeric = (node) =>
  ts.isNumericLiteral(node) ||
  isConstant(node) ||
  (ts.isParenthesizedExpression(node) && isNumeric(node.expression)) ||
  (ts.isBinaryExpression(node) && isNumeric(node.left) && isNumeric(node.right))

/** Whether a use of a constant shows that it is a time: a timer, an option, or a sum or comparison with a clock. */
function isUsedAsTime(use) {
  const { parent } = use
  if (ts.isCallExpression(parent))
    return /(setTimeout|setInterval|timeout)$/i.test(parent.expression.getText())
  if (ts.isPropertyAssignment(parent)) return TIME_OPTIONS.test(parent.name.getText())
  return ts.isBinaryExpression(parent) && CLOCKS.test(parent.getText())
}

function checkConstant(file, declaration, uses) {
  const { text } = declaration.name
  if (/^(MOST|LARGEST|LONGEST|DEEPEST|HIGHEST)(_|$)/.test(text))
    return report(file, declaration, `${text}: the name of a limit begins with MAX_ or MIN_`)
  const isTime = /_(MS|S)$/.test(text) || TIME_WORDS.test(text) || uses.some(isUsedAsTime)
  if (!isTime || OTHER_UNITS.test(text)) return false
  if (!/_(MS|S|US)$/.test(text))
    report(file, declaration, `${text}: a time says its unit at the end, _MS or _S`)
  else if (!/_.*_/.test(text))
    report(file, declaration, `${text}: begin with what it limits, as in MAIL_LEASE_MS`)
  return true
}

function checkConstants(files) {
  const values = new Map()
  for (const file of files) {
    const declarations = []
    const uses = new Map()
    visit(file, (node) => {
      if (
        ts.isVariableDeclaration(node) &&
        isConstant(node.name) &&
        node.initializer &&
        isNumeric(node.initializer)
      )
        declarations.push(node)
      else if (isConstant(node)) uses.set(node.text, [...(uses.get(node.text) ?? []), node])
    })
    for (const declaration of declarations) {
      const { text } = declaration.name
      if (!checkConstant(file, declaration, uses.get(text) ?? [])) continue
      const value = declaration.initializer.getText().replaceAll('_', '')
      const first = values.get(text) ?? { value, file }
      values.set(text, first)
      if (first.value !== value)
        report(
          file,
          declaration,
          `${text} has another value in ${first.file.fileName}: say in each name what it limits`,
        )
    }
  }
}

const wordsOf = (name) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => !/^(and|by|from|in|of|to|with)?$/.test(word))

/** Words resemble each other if their first four letters are equal: verify, verification. */
const areAlike = (one, other) => {
  const length = Math.min(4, one.length, other.length)
  return one.slice(0, length) === other.slice(0, length)
}

function checkFileName(file) {
  const names = file.statements.flatMap((statement) => exportedNames(statement, false))
  const [first] = names
  if (!first || FILES_BY_SUBJECT.has(file.fileName)) return
  const words = wordsOf(basename(file.fileName).replace(/\.tsx?$/, ''))
  const resembles = ({ text }) => {
    const exported = wordsOf(text)
    return words.filter((word) => exported.some((one) => areAlike(word, one))).length >= words.length / 2
  }
  if (!names.some(resembles))
    report(
      file,
      first,
      `no export resembles ${basename(file.fileName)}: name the file by what it exports, here ${first.text}`,
    )
}

/** Participles that tell what happened to a value, and not what it is. */
const BARE_PARTICIPLES = new Set(
  'begun chosen given helped kept known made named said saved seen sent shown sought taken thrown told wanted'.split(
    ' ',
  ),
)

/** Words between nouns. A name needs the noun. */
const NO_NOUNS = new Set('about beside by here is it of own than then those what'.split(' '))

const TEST_NAMES_WITHOUT_NOUN = new Set(['all', 'found', 'late', 'others'])
const NAMES_WITHOUT_NOUN = new Set([...BARE_PARTICIPLES, ...NO_NOUNS, ...TEST_NAMES_WITHOUT_NOUN])

const isPrivateMember = (node) =>
  (ts.isPropertyDeclaration(node) || ts.isMethodDeclaration(node)) && ts.isPrivateIdentifier(node.name)

function checkVariables(file, refusedNames) {
  visit(file, (node) => {
    if (!ts.isVariableDeclaration(node) && !ts.isParameter(node) && !isPrivateMember(node)) return
    const text = node.name.getText().replace('#', '')
    if (refusedNames.has(text)) report(file, node.name, `${text}: say what it is, by a noun, as in knownIds`)
  })
}

const NEITHER_VERB_NOR_SUBJECT = new Set(
  [
    'about after also although and as at because before but by during either for from if in of on or still than',
    'though to too under unless until when where while with without',
    'he her his it its she that their them these they this those what which who whom whose',
    'done found gone held left written',
  ]
    .flatMap((words) => words.split(' '))
    .concat([...BARE_PARTICIPLES]),
)
const VERBS_LIKE_PARTICIPLES = new Set(['bring', 'exceed', 'need', 'proceed', 'succeed'])

function checkTitle(file, call) {
  const [title] = call.arguments
  if (!title || !(ts.isStringLiteralLike(title) || ts.isTemplateExpression(title))) return
  const text = ts.isTemplateExpression(title) ? title.head.text : title.text
  const [word] = text.toLowerCase().match(/^\p{L}+/u) ?? ['']
  const isParticiple = /(ed|ing)$/.test(word) && !VERBS_LIKE_PARTICIPLES.has(word)
  if (isParticiple || NEITHER_VERB_NOR_SUBJECT.has(word))
    report(file, title, `begin the title with its verb or subject, not with "${word}": ${title.getText()}`)
}

function checkTitles(files) {
  for (const file of files)
    visit(file, (node) => {
      if (ts.isCallExpression(node) && /^it(\.only|\.skip)?$/.test(node.expression.getText()))
        checkTitle(file, node)
    })
}

/** Names in documents that belong to other programs. */
const FOREIGN_NAMES = new Set([
  'bundleDependencies',
  'clusterMonitor',
  'peerDependencies',
  'reusePort',
  'validateDBMetadata',
])

const documentsIn = (folder, recursive) =>
  readdirSync(folder, { recursive })
    .map((path) => join(folder, path))
    .filter((path) => path.endsWith('.md') && !/(^|\/)(node_modules|dist)\//.test(path))

const withoutText = (block) => block.replace(/[^\n]/g, '')

/** Checks the names in `code spans`; the compiler and the tests check blocks of code. A changelog names what is gone. */
function checkDocuments(sources) {
  const knownNames = new Set(sources.flatMap(({ text }) => text.match(/[\w$]+/g) ?? []))
  const folders = ['client', 'docs', 'packages']
  const documents = [...documentsIn('.', false), ...folders.flatMap((folder) => documentsIn(folder, true))]
  for (const path of documents.filter((one) => one !== 'CHANGELOG.md')) {
    const text = readFileSync(path, 'utf8').replace(/^```.*?^```/gms, withoutText)
    for (const { 0: span, index } of text.matchAll(/`[^`\n]+`/g)) {
      const line = text.slice(0, index).split('\n').length
      const names = [...span.matchAll(/(?<![\w.$-])[a-z]+[A-Z]\w*/g)].map(([name]) => name)
      for (const name of names.filter((one) => !knownNames.has(one) && !FOREIGN_NAMES.has(one)))
        findings.push(`${path}:${line}: ${name}: no source contains this name; name what the code has now`)
    }
  }
}

if (process.argv.includes('--help')) process.stdout.write(HELP)
else {
  const programs = PROGRAMS.map((folders) =>
    pathsIn(folders)
      .filter((path) => !isTest(path))
      .map(parse),
  )
  const tests = pathsIn(TESTS)
    .filter((path) => isTest(path))
    .map(parse)
  for (const files of programs) {
    checkExports(files)
    checkConstants(files)
    for (const file of files) {
      checkFileName(file)
      checkVariables(file, NAMES_WITHOUT_NOUN)
    }
  }
  checkTitles(tests)
  for (const file of tests) checkVariables(file, TEST_NAMES_WITHOUT_NOUN)
  checkDocuments([...programs.flat(), ...tests])
  process.stdout.write(`${programs.flat().length} files of the product, ${tests.length} of its tests\n`)
  if (programs.some((files) => files.length === 0) || tests.length === 0)
    findings.push(
      'No files were found: correct PROGRAMS in scripts/sources.mjs and TESTS in scripts/names.mjs',
    )
  for (const finding of findings) process.stderr.write(`${finding}\n`)
  process.exitCode = findings.length > 0 ? 1 : 0
}
