import type { JsonFile } from '../../schemas/json/json-file.ts'
import { type InstrumentName, TextPack } from '../../schemas/questionnaires/questionnaire.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import { formatViolations } from '../../schemas/validation/violations.ts'
import { INSTRUMENTS } from './instruments.ts'
import acqEn from './neutral/acq.en.json' with { type: 'json' }
import acqNl from './neutral/acq.nl.json' with { type: 'json' }
import dsmqEn from './neutral/dsmq.en.json' with { type: 'json' }
import dsmqNl from './neutral/dsmq.nl.json' with { type: 'json' }
import hadsEn from './neutral/hads.en.json' with { type: 'json' }
import hadsNl from './neutral/hads.nl.json' with { type: 'json' }

/** The built-in packs: our own labels name the topic of an item, without anybody's licensed texts. Tests check them. */
export const neutralPacks: JsonFile[] = [acqEn, acqNl, dsmqEn, dsmqNl, hadsEn, hadsNl].map((content) => ({
  name: `${content.instrument}.${content.language}`,
  content,
}))

const checkTextPack = createValidator(TextPack)

/** The texts of the questionnaires: the operator's packs and the neutral built-in ones. */
export class TextPacks {
  /** The operator's packs first, English before other languages. */
  readonly #packs: readonly TextPack[]

  /** @throws Error naming all faults of the operator's packs */
  constructor(files: readonly JsonFile[] = []) {
    const faults = findTextPackFaults(files)
    if (faults.length > 0) throw new Error(`Text packs have faults:\n  - ${faults.join('\n  - ')}`)
    this.#packs = [...files, ...neutralPacks].map(({ content }) => content as TextPack)
  }

  /**
   * The texts in this language, the operator's before neutral ones; if there are none, those in another
   * language.
   */
  find(instrument: InstrumentName, language: string | undefined): TextPack {
    const packs = this.#packs.filter((pack) => pack.instrument === instrument)
    const chosenPack = packs.find((pack) => pack.language === language) ?? packs[0]
    if (!chosenPack) throw new Error(`There are no texts for the questionnaire ${instrument}.`)
    return chosenPack
  }
}

/** The English label of an item in the built-in pack. */
export function neutralLabel(instrument: InstrumentName, item: number): string {
  const ours = neutralPacks.find(({ name }) => name === `${instrument}.en`)?.content as TextPack
  return itemsOfPack(ours).find(({ number }) => number === item)?.label ?? ''
}

const itemsOfPack = ({ pages }: TextPack) => pages.flatMap(({ items }) => items)

/** Finds all faults of an operator's packs, each with the name of its file. */
export const findTextPackFaults = (files: readonly JsonFile[]): string[] => [
  ...files.flatMap((file) => textPackFaults(file).map((fault) => `${file.name}: ${fault}`)),
  ...duplicatePackFaults(files),
]

function textPackFaults({ content, fault }: JsonFile): string[] {
  if (fault !== undefined) return [fault]
  const violations = checkTextPack(content)
  return violations.length > 0
    ? violations.map((violation) => formatViolations([violation]))
    : completenessFaults(content as TextPack)
}

/** The faults that the schema cannot find: each item and each option must occur once. */
function completenessFaults(pack: TextPack): string[] {
  const { items, highest, takesNotRequired = false } = INSTRUMENTS[pack.instrument]
  const options = Array.from({ length: highest + 1 }, (_, value) => value)
  const allItems = pack.pages.flatMap((page, i) =>
    page.items.map((item, j) => ({ ...item, path: `pages.${i}.items.${j}` })),
  )
  const scales = [
    { path: 'scale', scale: pack.scale },
    ...allItems.flatMap(({ path, scale }) => (scale ? [{ path: `${path}.scale`, scale }] : [])),
  ]
  const itemsWithOption = allItems.filter(({ notRequired }) => notRequired)
  const offering = takesNotRequired
    ? pack.notRequired === undefined && itemsWithOption.length > 0
      ? [`notRequired is required because ${itemsWithOption[0]?.path} offers this option`]
      : []
    : [
        ...(pack.notRequired === undefined ? [] : ['notRequired']),
        ...itemsWithOption.map(({ path }) => `${path}.notRequired`),
      ].map((path) => `${path} must be left out because the ${pack.instrument} has no such answer`)
  return [
    ...blankTextFaults(pack),
    ...coverageFaults(
      Array.from({ length: items }, (_, i) => i + 1),
      allItems.map(({ path, number }) => ({ path: `${path}.number`, value: number })),
      { within: 'pages', noun: 'item' },
    ),
    ...scales.flatMap(({ path, scale }) =>
      coverageFaults(
        options,
        scale.map(({ value }, i) => ({ path: `${path}.${i}.value`, value })),
        { within: path, noun: 'option' },
      ),
    ),
    ...offering,
  ]
}

/** The paths of blank texts. */
const blankTextFaults = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) =>
        blankTextFaults(inner, path ? `${path}.${name}` : name),
      )
    : typeof value === 'string' && value.trim() === ''
      ? [`${path} must not be blank`]
      : []

/** The numbers that are missing, duplicate or unknown. */
function coverageFaults(
  expectedNumbers: readonly number[],
  numbers: readonly { path: string; value: number }[],
  { within, noun }: { within: string; noun: string },
): string[] {
  const values = numbers.map(({ value }) => value)
  return [
    ...expectedNumbers
      .filter((value) => !values.includes(value))
      .map((value) => `${within}: ${noun} ${value} is missing`),
    ...numbers.flatMap(({ path, value }, i) => {
      if (!expectedNumbers.includes(value)) return [`${path}: ${noun} ${value} does not exist`]
      return values.indexOf(value) < i ? [`${path}: ${noun} ${value} occurs twice`] : []
    }),
  ]
}

/** Two packs of the operator for one questionnaire and language: it would be unclear which one to show. */
function duplicatePackFaults(files: readonly JsonFile[]): string[] {
  const first = new Map<string, string>()
  return files.flatMap(({ name, content }) => {
    const { instrument, language } = Object(content) as Partial<TextPack>
    if (instrument === undefined || language === undefined) return []
    const other = first.get(`${instrument} ${language}`)
    if (other === undefined) first.set(`${instrument} ${language}`, name)
    return other === undefined ? [] : [`${name}: instrument and language are the same as in ${other}`]
  })
}
