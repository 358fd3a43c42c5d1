import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const asUrl = (script: string) => `data:text/javascript,${encodeURIComponent(script)}`

/** Delays all modules except one that imports the others in a circle, like a slow disk. */
const slow = asUrl(`
  export async function load(url, context, next) {
    const isLate = url.includes('/parse-server/lib/') && !url.endsWith('/batch.js')
    if (isLate) await new Promise((done) => setTimeout(done, 150))
    return next(url, context)
  }`)

describe('the modules of Parse Server', () => {
  it('load in any order of disk reads, without the unused ones', async function () {
    this.timeout(30_000)
    const register = asUrl(`import { register } from 'node:module'; register(${JSON.stringify(slow)})`)
    const modules = new URL('../../../cloud/parse-server/internals.js', import.meta.url)
    const script = `
      import { createRequire } from 'node:module'
      const { loadParseServer } = await import(${JSON.stringify(modules.href)})
      await loadParseServer()
      const loaded = Object.keys(createRequire(process.execPath).cache)
      const inVain = loaded.filter((path) => /node_modules.(graphql.language|pg|@ldapjs|@redis.client)./.test(path))
      const { default: write } = await import('parse-server/lib/RestWrite.js')
      const config = { generateSessionExpiresAt: () => new Date() }
      const { createSession } = write.createSession(config, { userId: 'somebody', createdWith: {} })
      // There is no database for the write.
      createSession().catch(() => {})
      process.stdout.write(['known', ...inVain].join())
      process.exit(0)`
    const { stdout } = await run(process.execPath, [
      '--import',
      register,
      '--input-type=module',
      '--eval',
      script,
    ])
    assert.equal(stdout, 'known')
  })
})
