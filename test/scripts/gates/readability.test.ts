import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDataDir } from '../../harness/service/service-process.ts'

const EASY = 'The cat sat on the mat. The dog ran to the door.\n'
const HARD =
  'Organisational interoperability necessitates comprehensive documentation of heterogeneous institutional responsibilities.\n'

describe('npm run readability', () => {
  /** @returns the script's output for a document with that text */
  function measure(markdown: string) {
    const path = join(createDataDir(), 'text.md')
    writeFileSync(path, markdown)
    return spawnSync(process.execPath, ['scripts/readability.mjs', path], { encoding: 'utf8' })
  }

  it('passes an easy document and prints its Flesch reading ease', () => {
    // 206.835 - 1.015 * 6 words a sentence - 84.6 * 1 syllable a word
    const { status, stdout } = measure(EASY)
    assert.equal(status, 0)
    assert.match(stdout, /^ *116\.1 {2}\S+text\.md\n$/)
  })

  it('fails for a document below 50 and names it', () => {
    const { status, stderr } = measure(HARD)
    assert.equal(status, 1)
    assert.match(stderr, /text\.md/)
  })

  it('ignores headings, code, tables and the addresses of links', () => {
    const { stdout } = measure(
      `# ${HARD}\n${EASY}\n\`\`\`sh\n${HARD}\`\`\`\n\n| ${HARD} |\n\nThe [cat](https://documentation.example.org) sat on \`heterogeneous.institution()\` mats.\n`,
    )
    // Two sentences of six words and one of five, each word of one syllable.
    assert.match(stdout, /^ *116\.5 /)
  })

  it('measures the documents, mails and pages of the project, and the sentences of the console', () => {
    const { status, stdout } = spawnSync(process.execPath, ['scripts/readability.mjs'], { encoding: 'utf8' })
    assert.equal(status, 0)
    for (const name of [
      'README.md',
      'mail verify-email (en)',
      'page showActivation, void link (nl)',
      'console home (en)',
      'console problem (en)',
    ])
      assert.ok(
        stdout.split('\n').some((line) => line.endsWith(`  ${name}`)),
        name,
      )
  })

  it('ends quietly if its reader stops early', () => {
    const pipe = 'node scripts/readability.mjs docs README.md | head -1'
    const { stdout, stderr } = spawnSync('sh', ['-c', pipe], { encoding: 'utf8' })
    assert.match(stdout, /^ *[\d.]+ {2}docs\S+\n$/)
    assert.equal(stderr, '')
  })
})
