import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Page } from 'playwright-core'

const MONTHS =
  'January|February|March|April|May|June|July|August|September|October|November|December|januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december'

/** What differs from one run to the next: numbers, dates, ids and ages. */
const VARYING: readonly [RegExp, string][] = [
  [/user-[\w-]+@/g, 'user@'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID'],
  [/(?<=\/)[A-Za-z0-9]{10}(?=[/?]|$)/gm, 'ID'],
  // A word has no digit, and no capital after a small letter.
  [/\b(?=\w*\d|\w*[a-z]\w*[A-Z])(?=\w*[A-Za-z])\w{10}\b/g, 'ID'],
  [new RegExp(`\\b(${MONTHS})\\b`, 'g'), 'MONTH'],
  [/\d+([.,:]\d+)*/g, '#'],
  [/this minute|# \w+ ago|last \w+|yesterday|now$/g, 'AGE'],
  [/binnen een minuut|# \w+ geleden|vorige? \w+|gisteren/g, 'AGE'],
]

/** How many people have looked, at what, and from which browsers, depends on the tests before. */
const isStable = (line: string): boolean =>
  !/^\s*- '?(row|rowheader|cell)\b|Chrome, Linux|The oldest one came|De oudste kwam|Unknown device|Onbekend apparaat|Last used|Laatst gebruikt/.test(
    line,
  )

/** Roles, names and states of a page, as a screen reader finds them. Equal items of a list occur once. */
export async function readTree(page: Page): Promise<string[]> {
  const tree = VARYING.reduce(
    (text, [pattern, by]) => text.replace(pattern, by),
    await page.locator('body').ariaSnapshot(),
  )
  const stable = tree.split('\n').filter(isStable).join('\n')
  // A number beside which the age of the oldest mail stood.
  return [...new Set(stable.replace(/- definition:\n\s+- text: /g, '- definition: ').split('\n'))]
}

const pathOf = (name: string) => `test/console/pages/trees/${name}.txt`

/** Compares the trees of pages with those that are checked in; `UPDATE_TREES=1` writes them instead. */
export function assertTrees(name: string, trees: ReadonlyMap<string, readonly string[]>): void {
  const text = [...trees]
    .map(([page, lines]) => [`${page || '/'}:`, ...lines.map((line) => `  ${line}`), ''].join('\n'))
    .join('\n')
  const path = pathOf(name)
  if (process.env.UPDATE_TREES) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  assert.ok(existsSync(path), `${path} is missing: run the test with UPDATE_TREES=1`)
  assert.equal(text, readFileSync(path, 'utf8'))
}
