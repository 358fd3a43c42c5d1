import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type ServiceProcess, startProcess, stopProcess } from './harness/service/service-process.ts'
import { isFullSize } from './harness/test-size.ts'

const run = promisify(execFile)

/** The commands of docs/tour.md in one language, joined. */
function tour(language: string): string {
  const page = readFileSync('docs/tour.md', 'utf8')
  const parts = [...page.matchAll(new RegExp(`^\`\`\`${language} tour\\n([\\s\\S]*?)^\`\`\``, 'gm'))]
  assert.ok(parts.length > 0, `docs/tour.md has commands in ${language}`)
  return parts.map(([, commands]) => commands).join('\n')
}

/** The files that a document links to. */
const linksIn = ({ path, text }: { path: string; text: string }): string[] =>
  [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => join(dirname(path), link))

describe('the documents', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    'client/README.md',
    'packages/embedded-mongo/README.md',
    ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)),
  ]
  const texts = documents
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))

  it('name commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const commands = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => ({ path, name })),
    )
    assert.ok(commands.length > 30)
    assert.deepEqual(
      commands.filter(({ name }) => !Object.hasOwn(scripts, name)),
      [],
    )
  })

  it('link to files that exist', () => {
    const links = texts.flatMap(linksIn)
    assert.ok(links.length > 20)
    assert.deepEqual(
      links.filter((link) => !existsSync(link)),
      [],
    )
  })

  it('lead to nothing that the package leaves out', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      maxBuffer: 10_000_000,
    })
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
    const paths = files.map(({ path }) => path)
    const packed = texts.filter(({ path }) => paths.includes(path))
    assert.ok(packed.length > 10)
    const links = packed.flatMap(linksIn)
    assert.deepEqual(
      links.filter((link) => !paths.some((path) => path === link || path.startsWith(`${link}/`))),
      [],
    )
  })

  it('name files that exist', () => {
    const rooms = readdirSync('.', { withFileTypes: true }).filter((entry) => entry.isDirectory())
    const inRoom = new RegExp(`^(${rooms.map(({ name }) => name).join('|')})/[\\w./-]+\\.\\w+$`)
    const codeSpans = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => ({ path, name })),
    )
    const files = codeSpans.filter(({ name }) => inRoom.test(name) && !name.startsWith('data/'))
    assert.ok(files.length > 50)
    const isThere = (path: string, name: string) => [name, join(dirname(path), name)].some(existsSync)
    assert.deepEqual(
      files.filter(({ path, name }) => !isThere(path, name)),
      [],
    )
  })

  it('name functions that exist, in the recipes', () => {
    const code = ['docs/examples', 'path-api', 'records', 'schemas']
      .flatMap((room) =>
        readdirSync(room, { recursive: true, encoding: 'utf8' }).map((path) => join(room, path)),
      )
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n')
    const calls = texts
      .filter(({ path }) => path.startsWith('docs/adding-'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\b([a-z]+[A-Z]\w*|raw|form)\(/g)].map(([, name = '']) => ({ path, name })),
      )
    assert.ok(calls.length > 20)
    assert.deepEqual(
      calls.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(code)),
      [],
    )
  })
})

describe('the tour in docs/tour.md', function suite() {
  this.timeout(60_000)
  let service: ServiceProcess
  let env: NodeJS.ProcessEnv

  before(async () => {
    service = await startProcess()
    await service.ready
    env = { ...process.env, DATA_DIR: service.dataDir, PUBLIC_URL: service.url }
  })
  after(() => stopProcess(service))

  it('works with curl, from sign-up to two people on one care plan', async () => {
    const script = `${tour('sh')}\necho "ANN: $ANN"`
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { env })
    env.ANN = /ANN: (.*)$/m.exec(stdout)?.[1]
    assert.match(stdout, /"systolic":142/)
    assert.match(stdout, /"results":\[\{/)
    assert.match(stdout, /"bmi":22.9/)
    assert.match(stdout, /"displayName":"Ann Example"/)
    assert.match(stdout, /"name":"Buy good shoes"/)
    assert.match(stdout, /"status":"COMPLETED"/)
    assert.match(stdout, /"action":"update","type":"Task"/)
    assert.match(stdout, /"title":"Blood pressure 185\/112 mmHg: Hypertension grade 3"/)
    assert.match(stdout, /"group":"alerts","type":"point"/)
    assert.match(stdout, /"stats":\{"min":124,"max":185,"mean":136.7143,"last":\{"x":\d+,"y":124\}\}/)
    assert.match(stdout, /"systolic_blood_pressure":\{"value":185,"unit":"mmHg"\}/)
    assert.match(stdout, /"systolic":172,[^{}]*"compositionId":"[0-9a-f-]{36}"/)
    assert.match(stdout, /"type":"steps","name":"Steps"/)
    assert.match(stdout, /"stored":7,"known":0,"refused":0/)
    assert.match(stdout, /"count":5,"min":4210,"max":8214,"mean":6173.8,"last":7020\}/)
    assert.match(stdout, /"id":"steps.value"/)
    assert.match(stdout, /"eventType":"fall"/)
    assert.match(stdout, /"text":"Is this enough\?"/)
    assert.match(stdout, /data: \{[^\n]*"operation":"create"[^\n]*"text":"Very good. Mind the stairs!"/)
    assert.match(stdout, /"title":"My steps",[^{}]*\{[^{}]*\},[^{}]*"unread":1/)
    assert.match(stdout, /"rows":\[\["\w{10}::hrs.local::1",185\],\s*\["[0-9a-f-]{36}::hrs.local::1",172\]\]/)
  })

  it('can be repeated', async function again() {
    if (!isFullSize) return this.skip()
    await run('bash', ['-euo', 'pipefail', '-c', tour('sh')], { env })
  })

  it('works with the Parse JavaScript SDK', async () => {
    // In the project's directory, so that Node finds the SDK.
    const script = `tour-${process.pid}.mjs`
    writeFileSync(script, tour('js'))
    try {
      const { stdout } = await run(process.execPath, [script], { env })
      assert.deepEqual(stdout.trim().split('\n'), ['ACTIVE', '1 118', 'heard of 118', 'normal'])
    } finally {
      rmSync(script)
    }
  })
})
