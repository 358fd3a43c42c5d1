/** Measures how easily the prose of Markdown files reads, by Rudolf Flesch's formula for English. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { syllable } from 'syllable'

const HELP = `Usage: npm run readability [-- FILE-OR-FOLDER...] [--long]

Prints the Flesch reading ease of each Markdown file: 100 is very easy, 50 is fairly difficult, 30 is an academic paper.
Headings, code, tables and the addresses of links do not count. Without files: the project's documents.

  --min N   The ease that each file needs; the exit status is 1 if one is below it (default: 50)
  --long    Also list the sentences of more than 25 words
  --help    Print this text
`
const MAX_WORDS = 25
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs',
  'packages/embedded-mongo/README.md',
]

/** Stands for inline code, which is no word but may begin a sentence. */
const CODE = '¤'

/** A paragraph or a list item is one block, whose lines belong together. */
function blocksOf(markdown) {
  return markdown
    .replace(/^( *)```[\s\S]*?^\1```/gm, '\n')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^(#|\||<).*$/gm, '\n')
    .replace(/`[^`]*`/g, CODE)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/https?:\S+/g, '')
    .split(/\n\s*\n|\n\s*(?:[-*]|\d+\.) /)
}

const wordsOf = (text) => text.match(/\p{L}[\p{L}\p{M}’'-]*/gu) ?? []

/** A full stop inside a word or a number, as in "e.g." and "7.0", ends no sentence. */
const sentencesOf = (block) =>
  block.split(/(?<=[.!?][)*_”"]*)\s+(?=[\p{Lu}(*_“"[¤])/u).filter((sentence) => wordsOf(sentence).length > 0)

/** @returns {number} Flesch reading ease; the higher, the easier */
function easeOf(sentences) {
  const words = sentences.flatMap(wordsOf)
  const syllables = words.reduce((sum, word) => sum + syllable(word), 0)
  return 206.835 - 1.015 * (words.length / sentences.length) - 84.6 * (syllables / words.length)
}

const filesIn = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true })
        .filter((name) => name.endsWith('.md'))
        .map((name) => join(path, name))
        .sort()
    : [path]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    min: { type: 'string', default: '50' },
    long: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function report(path) {
  const sentences = blocksOf(readFileSync(path, 'utf8')).flatMap(sentencesOf)
  if (sentences.length === 0) return true
  const ease = easeOf(sentences)
  process.stdout.write(`${ease.toFixed(1).padStart(6)}  ${path}\n`)
  if (values.long)
    for (const sentence of sentences.filter((sentence) => wordsOf(sentence).length > MAX_WORDS))
      process.stdout.write(`        ${wordsOf(sentence).length}: ${sentence.replace(/\s+/g, ' ').trim()}\n`)
  return ease >= Number(values.min)
}

if (values.help) process.stdout.write(HELP)
else {
  const paths = (positionals.length > 0 ? positionals : DOCUMENTS).flatMap(filesIn)
  const hard = paths.filter((path) => !report(path))
  if (hard.length > 0)
    process.stderr.write(
      `Below ${values.min}, rewrite with shorter sentences and words: ${hard.join(', ')}\n`,
    )
  process.exitCode = hard.length > 0 ? 1 : 0
}
