/**
 * Measures how easily documents, mails and pages read: English by Rudolf Flesch's formula, Dutch by the one that
 * W. H. Douma adapted to longer words.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { syllable } from 'syllable'

const HELP = `Usage: npm run readability [-- FILE-OR-FOLDER...] [--long]

Prints the Flesch reading ease of each Markdown file: 100 is very easy, 50 is fairly difficult, 30 is an academic paper.
Headings, code, tables and the URLs of links do not count. Without files: the project's documents; the mails and pages of
the service in English and Dutch (Flesch-Douma), which need an ease of 60; and the sentences of the console in English, by the
first word of their names, which need it, too.

  --min N   Ease that each file needs; the exit status is 1 if one is below it (default: 50)
  --long    Also list the sentences of more than 25 words
  --help    Print this text
`
const MAX_WORDS = 25
/** Ease of mails and pages, which patients read: 60 and more is for everybody who went to school until 15. */
const MIN_RENDERED_EASE = 60
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs',
  'client/README.md',
  'packages/embedded-mongo/README.md',
]

/** Stands for inline code, which is not a word but may begin a sentence. */
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

/** Vowels that sound together are one syllable; a diaeresis begins another one. */
const DUTCH_VOWELS =
  /aai|ooi|oei|eeu|ieu|aa|ee|oo|uu|ie|oe|ui|[eë]i|[iï]e|ij|ai|au|ou|eu|[aeiouyáàâéèêëíïóôöúûü]/gi

/** The weights of the length of sentences, in words, and of words, in syllables. */
const FORMULAS = {
  en: { base: 206.835, sentence: 1.015, word: 84.6, count: syllable },
  nl: { base: 206.84, sentence: 0.93, word: 77, count: (word) => word.match(DUTCH_VOWELS)?.length ?? 1 },
}

/** @returns {number} reading ease; the higher, the easier */
function easeOf(sentences, language) {
  const { base, sentence, word, count } = FORMULAS[language]
  const words = sentences.flatMap(wordsOf)
  const syllables = words.reduce((sum, one) => sum + count(one), 0)
  return base - sentence * (words.length / sentences.length) - word * (syllables / words.length)
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

/** @returns whether the text is easy enough */
function report({ name, text, min, language }) {
  const sentences = blocksOf(text).flatMap(sentencesOf)
  if (sentences.length === 0) return true
  const ease = easeOf(sentences, language)
  process.stdout.write(`${ease.toFixed(1).padStart(6)}  ${name}\n`)
  if (values.long)
    for (const sentence of sentences.filter((sentence) => wordsOf(sentence).length > MAX_WORDS))
      process.stdout.write(`        ${wordsOf(sentence).length}: ${sentence.replace(/\s+/g, ' ').trim()}\n`)
  return ease >= min
}

const readDocuments = (paths) =>
  paths.flatMap(filesIn).map((path) => ({
    name: path,
    text: readFileSync(path, 'utf8'),
    min: Number(values.min),
    language: 'en',
  }))

const CONSOLE_TEXTS = 'console/src'

/** A text with the plural form of its numbers, and a mark in place of each value. */
const fillText = (message) =>
  message
    .replace(/\{\w+, (?:plural|select),.*? other \{((?:[^{}]|\{[^{}]*\})*)\}\}/g, '$1')
    .replace(/\{[^{}]*\}|#/g, CODE)

/** The sentences of the console, without labels, as one text for each group of names such as `home`. */
function readConsoleTexts() {
  const files = readdirSync(CONSOLE_TEXTS, { recursive: true }).filter((name) => name.endsWith('.en.json'))
  const texts = files.flatMap((name) =>
    Object.entries(JSON.parse(readFileSync(join(CONSOLE_TEXTS, name), 'utf8'))),
  )
  const sentences = texts.filter(([, text]) => /[.!?]$/.test(fillText(text)))
  const groups = new Map()
  for (const [name, text] of sentences) {
    const [group] = name.split('.')
    groups.set(group, `${groups.get(group) ?? ''}${fillText(text)}\n\n`)
  }
  return [...groups].map(([group, text]) => ({
    name: `console ${group} (en)`,
    text,
    min: MIN_RENDERED_EASE,
    language: 'en',
  }))
}

/** Loads the compiled service only when it is needed. */
async function readRenderedTexts() {
  const { renderTexts } = await import('./rendered-texts.mjs')
  return (await renderTexts()).map((one) => ({ ...one, min: MIN_RENDERED_EASE }))
}

// `head` stops reading before the end.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

if (values.help) process.stdout.write(HELP)
else {
  const texts =
    positionals.length > 0
      ? readDocuments(positionals)
      : [...readDocuments(DOCUMENTS), ...readConsoleTexts(), ...(await readRenderedTexts())]
  const hard = texts.filter((text) => !report(text))
  for (const { name, min } of hard)
    process.stderr.write(`Below ${min}, rewrite with shorter sentences and words: ${name}\n`)
  process.exitCode = hard.length > 0 ? 1 : 0
}
