import { type CarePlanTemplate, CarePlanTemplateFile } from '../../../schemas/care-plan-template.ts'
import type { JsonFile } from '../../../schemas/json-file.ts'
import { checkOf } from '../../../schemas/registry.ts'
import { inOneLine } from '../../../schemas/violation.ts'
import { decodeCursor, foreignCursor } from '../../store/reading/cursor.ts'
import { type Page, type PageOf, paged } from '../../store/reading/listing.ts'
import asthma from './asthma.json' with { type: 'json' }
import healthyWeight from './healthy-weight.json' with { type: 'json' }
import hypertension from './hypertension.json' with { type: 'json' }
import type2Diabetes from './type-2-diabetes.json' with { type: 'json' }

/** What comes with the service: general advice of our own, no guideline of anybody. */
const ours: JsonFile[] = [hypertension, asthma, type2Diabetes, healthyWeight].map((content) => ({
  name: `${content.id}.json`,
  content,
}))

const LIST = 'templates'

const check = checkOf(CarePlanTemplateFile)

/** The care-plan templates, ours first; one of an operator takes the place of ours with the same id. */
export class CarePlanTemplates {
  readonly #files: ReadonlyMap<string, CarePlanTemplateFile>

  /** @throws Error naming everything that is wrong with the templates */
  constructor(more: readonly JsonFile[] = []) {
    // That ours are right is what a test shows, not each start.
    const faults = [
      ...more.flatMap((source) => faultsOf(source).map((fault) => `${source.name}: ${fault}`)),
      ...repeatedIds(more),
    ]
    if (faults.length > 0) throw new Error(`Care-plan templates have faults:\n  - ${faults.join('\n  - ')}`)
    const files = [...ours, ...more].map(({ content }) => content as CarePlanTemplateFile)
    this.#files = new Map(files.map((file) => [file.id, file]))
  }

  /** Each in that language, or else in its own first one. @throws MalformedRequest for a cursor of another list */
  list(language: string | undefined, { limit, cursor, count }: PageOf): Page<CarePlanTemplate> {
    const all = [...this.#files.values()]
    const start =
      cursor === undefined ? 0 : all.findIndex(({ id }) => id === decodeCursor(LIST, cursor).id) + 1
    if (cursor !== undefined && start === 0) throw foreignCursor()
    const total = count ? all.length : undefined
    const page = paged(LIST, all.slice(start), limit, ({ id }) => ({ value: null, id }), total)
    return { ...page, items: page.items.map((file) => inLanguage(file, language)) }
  }

  get(id: string, language?: string): CarePlanTemplate | undefined {
    const file = this.#files.get(id)
    return file && inLanguage(file, language)
  }
}

function faultsOf({ content, fault }: JsonFile): string[] {
  if (fault !== undefined) return [fault]
  const violations = check(content)
  if (violations.length > 0) return [inOneLine(violations)]
  const file = content as CarePlanTemplateFile
  const languages = Object.keys(file.name)
  return textsOf(file)
    .filter((text) => Object.keys(text).sort().join() !== languages.toSorted().join())
    .map((text) => `"${Object.values(text)[0]}" is not in the languages of the name: ${languages.join(', ')}`)
}

/** One that takes the place of ours does so on purpose; two of the operator's own do not. */
function repeatedIds(sources: readonly JsonFile[]): string[] {
  const first = new Map<unknown, string>()
  return sources.flatMap(({ name, content }) => {
    const { id } = Object(content) as { id?: unknown }
    const other = first.get(id)
    if (id !== undefined && other === undefined) first.set(id, name)
    return other === undefined ? [] : [`${name}: has the same id as ${other}`]
  })
}

function textsOf({ description, goals }: CarePlanTemplateFile): Record<string, string>[] {
  const parts = goals.flatMap((goal) => [goal, ...goal.tasks])
  return [description, ...parts.flatMap((part) => [part.name, part.description ?? part.name])]
}

function inLanguage(file: CarePlanTemplateFile, wanted: string | undefined): CarePlanTemplate {
  const languages = Object.keys(file.name)
  const language = wanted !== undefined && languages.includes(wanted) ? wanted : (languages[0] ?? '')
  const words = <T extends { name: Record<string, string>; description?: Record<string, string> }>(
    part: T,
  ) => {
    const { name, description, ...rest } = part
    return {
      ...rest,
      name: name[language] ?? '',
      ...(description && { description: description[language] ?? '' }),
    }
  }
  const goals = file.goals.map((goal) => ({ ...words(goal), tasks: goal.tasks.map(words) }))
  const description = file.description[language] ?? ''
  return { ...words(file), description, goals, language, languages }
}
