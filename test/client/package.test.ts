import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const MAX_BYTES = 8 * 1024

describe('the package of the client', function suite() {
  this.timeout(60_000)

  it('has the types of this service', () => {
    execFileSync(process.execPath, ['scripts/client-types.mjs', '--check'], { stdio: 'pipe' })
  })

  it('has types that compile without those of browsers', () => {
    const options =
      '--ignoreConfig --noEmit --strict --target es2023 --lib es2023 --module nodenext --types node'.split(
        ' ',
      )
    const args = [
      'node_modules/typescript/bin/tsc',
      ...options,
      'client/dist/index.d.ts',
      'client/dist/parse.d.ts',
    ]
    execFileSync(process.execPath, args, { stdio: 'pipe' })
  })

  it(`has at most ${MAX_BYTES} bytes in a browser`, async () => {
    const bundle = await rolldown({ input: 'client/dist/index.js', platform: 'browser' })
    const { output } = await bundle.generate({ minify: true })
    const [{ code, imports }] = output
    assert.deepEqual([output.length, imports], [1, []])
    const bytes = gzipSync(code, { level: 9 }).length
    assert.ok(bytes > 2000 && bytes <= MAX_BYTES, `${bytes} bytes`)
  })
})
