/** Checks which file may import which: the rules of .dependency-cruiser.cjs. */
import { cruise, format } from 'dependency-cruiser'
import extractDepcruiseConfig from 'dependency-cruiser/config-utl/extract-depcruise-config'
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run deps

Fails if a file imports what it may not: the rules and their reasons are in .dependency-cruiser.cjs.
`)

const FOLDERS = [
  'client',
  'console',
  'packages',
  'server',
  'schemas',
  'records',
  'openehr',
  'fhir',
  'cloud',
  'path-api',
  'test',
  'bench',
]

/** @throws Error for a folder without a rule, or without modules */
async function checkImports() {
  const config = await extractDepcruiseConfig('./.dependency-cruiser.cjs')
  const { output } = await cruise(
    FOLDERS,
    { ...config.options, ruleSet: config, validate: true },
    undefined,
    {
      tsConfig: extractTSConfig('tsconfig.json'),
    },
  )
  const { output: report, exitCode } = await format(output, { outputType: 'err-long' })
  process.stdout.write(report)
  const sources = output.modules.map(({ source }) => source).filter((source) => source.endsWith('.ts'))
  const unseen = FOLDERS.filter((folder) => !sources.some((source) => source.startsWith(`${folder}/`)))
  if (unseen.length > 0)
    throw new Error(
      `No TypeScript module was seen in ${unseen.join(', ')}: correct FOLDERS in scripts/deps.mjs, or run npm ci.`,
    )
  return exitCode > 0 ? 1 : 0
}

process.exitCode = await checkImports().catch(({ message }) => {
  process.stderr.write(`${message}\n`)
  return 1
})
