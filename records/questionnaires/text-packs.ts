import type { JsonFile } from '../../schemas/json-file.ts'
import { type InstrumentName, TextPack } from '../../schemas/questionnaire.ts'
import { checkOf } from '../../schemas/registry.ts'
import { inOneLine } from '../../schemas/violation.ts'
import { instruments } from './instruments.ts'
import acqEn from './neutral/acq.en.json' with { type: 'json' }
import acqNl from './neutral/acq.nl.json' with { type: 'json' }
import dsmqEn from './neutral/dsmq.en.json' with { type: 'json' }
import dsmqNl from './neutral/dsmq.nl.json' with { type: 'json' }
import hadsEn from './neutral/hads.en.json' with { type: 'json' }
import hadsNl from './neutral/hads.nl.json' with { type: 'json' }

/** What comes with the service: labels of our own that name the topic of an item and are nobody's texts. */
const neutral: JsonFile[] = [acqEn, acqNl, dsmqEn, dsmqNl, hadsEn, hadsNl].map((content) => ({
  name: `${content.instrument}.${content.language}`,
  content,
}))

const check = checkOf(TextPack)

/** The texts of the questionnaires: the operator's, and neutral ones. */
export class TextPacks {
  /** The operator's first, English before other languages. */
  readonly #packs: readonly TextPack[]

  /** @throws Error naming everything that is wrong with the packs */
  constructor(files: readonly JsonFile[] = []) {
    const faults = [
      ...[...files, ...neutral].flatMap((file) => faultsOf(file).map((fault) => `${file.name}: ${fault}`)),
      ...repeated(files),
    ]
    if (faults.length > 0) throw new Error(`Text packs have faults:\n  - ${faults.join('\n  - ')}`)
    this.#packs = [...files, ...neutral].map(({ content }) => content as TextPack)
  }

  /** The texts in that language, the operator's before neutral ones; in another one when there are none in it. */
  of(instrument: InstrumentName, language: string | undefined): TextPack {
    const packs = this.#packs.filter((pack) => pack.instrument === instrument)
    const found = packs.find((pack) => pack.language === language) ?? packs[0]
    if (!found) throw new Error(`There are no texts of the ${instrument}.`)
    return found
  }
}

/** The label of an item of ours, in English. */
export function neutralLabel(instrument: InstrumentName, item: number): string {
  const ours = neutral.find(({ name }) => name === `${instrument}.en`)?.content as TextPack
  return itemsOf(ours).find(({ number }) => number === item)?.label ?? ''
}

const itemsOf = ({ pages }: TextPack) => pages.flatMap(({ items }) => items)

function faultsOf({ content, fault }: JsonFile): string[] {
  if (fault !== undefined) return [fault]
  const violations = check(content)
  return violations.length > 0
    ? violations.map((violation) => inOneLine([violation]))
    : incompleteness(content as TextPack)
}

/** What its schema cannot say: every item and every option once. */
function incompleteness(pack: TextPack): string[] {
  const { items, highest, takesNotRequired = false } = instruments[pack.instrument]
  const options = Array.from({ length: highest + 1 }, (_, value) => value)
  const placed = pack.pages.flatMap((page, i) =>
    page.items.map((item, j) => ({ ...item, path: `pages.${i}.items.${j}` })),
  )
  const scales = [
    { path: 'scale', scale: pack.scale },
    ...placed.flatMap(({ path, scale }) => (scale ? [{ path: `${path}.scale`, scale }] : [])),
  ]
  const offered = placed.filter(({ notRequired }) => notRequired)
  const offering = takesNotRequired
    ? pack.notRequired === undefined && offered.length > 0
      ? [`notRequired is required: ${offered[0]?.path} offers it`]
      : []
    : [
        ...(pack.notRequired === undefined ? [] : ['notRequired']),
        ...offered.map(({ path }) => `${path}.notRequired`),
      ].map((path) => `${path} must be absent: the ${pack.instrument} has no such answer`)
  return [
    ...blankTexts(pack),
    ...each(
      Array.from({ length: items }, (_, i) => i + 1),
      placed.map(({ path, number }) => ({ path: `${path}.number`, value: number })),
      { within: 'pages', noun: 'item' },
    ),
    ...scales.flatMap(({ path, scale }) =>
      each(
        options,
        scale.map(({ value }, i) => ({ path: `${path}.${i}.value`, value })),
        { within: path, noun: 'option' },
      ),
    ),
    ...offering,
  ]
}

/** Where nobody could read anything. */
const blankTexts = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => blankTexts(inner, path ? `${path}.${name}` : name))
    : typeof value === 'string' && value.trim() === ''
      ? [`${path} must not be blank`]
      : []

/** What is not there, is there twice, or does not belong there. */
function each(
  wanted: readonly number[],
  found: readonly { path: string; value: number }[],
  { within, noun }: { within: string; noun: string },
): string[] {
  const values = found.map(({ value }) => value)
  return [
    ...wanted
      .filter((value) => !values.includes(value))
      .map((value) => `${within}: ${noun} ${value} is missing`),
    ...found.flatMap(({ path, value }, i) => {
      if (!wanted.includes(value)) return [`${path}: there is no ${noun} ${value}`]
      return values.indexOf(value) < i ? [`${path}: ${noun} ${value} is there already`] : []
    }),
  ]
}

/** Two of the operator's for the same questionnaire and language: nobody could say which one is shown. */
function repeated(files: readonly JsonFile[]): string[] {
  const first = new Map<string, string>()
  return files.flatMap(({ name, content }) => {
    const { instrument, language } = Object(content) as Partial<TextPack>
    if (instrument === undefined || language === undefined) return []
    const other = first.get(`${instrument} ${language}`)
    if (other === undefined) first.set(`${instrument} ${language}`, name)
    return other === undefined ? [] : [`${name}: is for the same questionnaire and language as ${other}`]
  })
}
