import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'

const MONTHS =
  'January|February|March|April|May|June|July|August|September|October|November|December|januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december'

/** The texts that differ from one run to the next: numbers, dates, ids and ages. */
const VARYING: readonly [RegExp, string][] = [
  [/user-[\w-]+@/g, 'user@'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID'],
  [/(?<=\/)[A-Za-z0-9]{10}(?=[/?]|$)/gm, 'ID'],
  [/(?<=\bsystem-)\w{10}\b/g, 'ID'],
  // A word has no digit, and no second capital beside small letters.
  [/\b(?=\w*\d|\w*[a-z]\w*[A-Z]|\w*[A-Z]\w*[A-Z]\w*[a-z])(?=\w*[A-Za-z])\w{10}\b/g, 'ID'],
  [new RegExp(`\\b(${MONTHS})\\b`, 'g'), 'MONTH'],
  [/\d+([.,:]\d+)*/g, '#'],
  [/this minute|# \w+ ago|last \w+|yesterday|now$/g, 'AGE'],
  [/binnen een minuut|# \w+ geleden|vorige? \w+|gisteren/g, 'AGE'],
]

/** How many people have looked, and so whether there are older entries, at what, and from which browsers, depends on the tests before. */
const isStable = (line: string): boolean =>
  !/^\s*- '?(row|rowheader|cell)\b|Chrome, Linux|The oldest one came|De oudste kwam|Unknown device|Onbekend apparaat|Last used|Laatst gebruikt|button "(Older|Ouder)"/.test(
    line,
  )

/** The lines of a tree that stay the same. Equal items of a list occur once. */
function stableLines(snapshot: string): string[] {
  const tree = VARYING.reduce((text, [pattern, by]) => text.replace(pattern, by), snapshot)
  const stable = tree.split('\n').filter(isStable).join('\n')
  // A number beside which the age of the oldest mail stood.
  return [...new Set(stable.replace(/- definition:\n\s+- text: /g, '- definition: ').split('\n'))]
}

/** The checked-in trees of a file: the text of each page. */
function readTrees(path: string): Map<string, string> {
  if (!existsSync(path)) return new Map()
  const pages = readFileSync(path, 'utf8')
    .split(/^(\S.*):\n/m)
    .slice(1)
  return new Map(pages.flatMap((name, i) => (i % 2 === 0 ? [[name, pages[i + 1] ?? '']] : [])))
}

/** By then a page has everything, whatever it reads after its heading. */
const COMPLETE_MS = 5_000

/** Roles, names and states of a page, as a screen reader finds them, without what varies. */
export async function readTree(page: Page): Promise<string> {
  const lines = stableLines(await page.locator('body').ariaSnapshot())
  return `${lines.map((line) => `  ${line}`).join('\n')}\n\n`
}

/**
 * Compares the tree of a page with the one that is checked in, and waits until they are alike. `UPDATE_TREES=1` writes it
 * instead.
 */
export async function assertTree(visitor: string, name: string, page: Page): Promise<void> {
  const path = `test/console/pages/trees/${visitor}.txt`
  const trees = readTrees(path)
  if (process.env.UPDATE_TREES) {
    await sleep(COMPLETE_MS)
    mkdirSync(dirname(path), { recursive: true })
    const updated = [...trees.set(name, await readTree(page))].map(([one, text]) => `${one}:\n${text}`)
    writeFileSync(path, updated.join(''))
    return
  }
  let tree = await readTree(page)
  for (
    const end = Date.now() + COMPLETE_MS;
    tree !== trees.get(name) && Date.now() < end;
    tree = await readTree(page)
  )
    await sleep(50)
  assert.equal(tree, trees.get(name), `${path}; UPDATE_TREES=1 writes it`)
}
