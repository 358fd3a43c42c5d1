import {
  type CarePlanTemplate,
  CarePlanTemplateFile,
} from '../../../schemas/care-plans/care-plan-template.ts'
import type { JsonFile } from '../../../schemas/json/json-file.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { formatViolations } from '../../../schemas/validation/violations.ts'
import { blankViolations } from '../../ehr-records/validation/field-violations.ts'
import { decodeCursor, invalidCursorError } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../store/reading/pages.ts'
import asthma from './asthma.json' with { type: 'json' }
import healthyWeight from './healthy-weight.json' with { type: 'json' }
import hypertension from './hypertension.json' with { type: 'json' }
import type2Diabetes from './type-2-diabetes.json' with { type: 'json' }

/** The built-in templates: general advice of our own, not any published guideline. */
const builtInTemplates: JsonFile[] = [hypertension, asthma, type2Diabetes, healthyWeight].map((content) => ({
  name: `${content.id}.json`,
  content,
}))

const TEMPLATE_LIST = 'templates'

const checkTemplateFile = createValidator(CarePlanTemplateFile)

/**
 * The care-plan templates, built-in ones first. An operator's template replaces the built-in one with the
 * same id.
 */
export class CarePlanTemplates {
  readonly #files: ReadonlyMap<string, CarePlanTemplateFile>

  /** @throws Error naming all faults of the templates */
  constructor(more: readonly JsonFile[] = []) {
    // A test checks the built-in templates, so a start need not.
    const faults = findTemplateFaults(more)
    if (faults.length > 0) throw new Error(`Care-plan templates have faults:\n  - ${faults.join('\n  - ')}`)
    const files = [...builtInTemplates, ...more].map(({ content }) => content as CarePlanTemplateFile)
    this.#files = new Map(files.map((file) => [file.id, file]))
  }

  /**
   * Lists the templates in that language, or else in their own first one.
   * @throws MalformedRequest for a cursor of another list
   */
  list(language: string | undefined, { limit, cursor, count }: PageRequest): Page<CarePlanTemplate> {
    const templateFiles = [...this.#files.values()]
    const start =
      cursor === undefined
        ? 0
        : templateFiles.findIndex(({ id }) => id === decodeCursor(TEMPLATE_LIST, cursor).id) + 1
    if (cursor !== undefined && start === 0) throw invalidCursorError()
    const total = count ? templateFiles.length : undefined
    const page = createPage(
      TEMPLATE_LIST,
      templateFiles.slice(start),
      limit,
      ({ id }) => ({ value: null, id }),
      total,
    )
    return { ...page, items: page.items.map((file) => translateTemplate(file, language)) }
  }

  get(id: string, language?: string): CarePlanTemplate | undefined {
    const file = this.#files.get(id)
    return file && translateTemplate(file, language)
  }
}

/** Finds all faults of an operator's templates, each with the name of its file. */
export const findTemplateFaults = (files: readonly JsonFile[]): string[] => [
  ...files.flatMap((file) => templateFaults(file).map((fault) => `${file.name}: ${fault}`)),
  ...duplicateIdFaults(files),
]

function templateFaults({ content, fault }: JsonFile): string[] {
  if (fault !== undefined) return [fault]
  const violations = checkTemplateFile(content)
  if (violations.length > 0) return [formatViolations(violations)]
  const file = content as CarePlanTemplateFile
  const languages = Object.keys(file.name)
  const { names, descriptions } = textsOf(file)
  const isBlank = (text: string) => blankViolations({ text }, 'text').length > 0
  const blankNames = names.filter((name) => Object.values(name).some(isBlank))
  return [
    ...[...names, ...descriptions]
      .filter((text) => Object.keys(text).sort().join() !== languages.toSorted().join())
      .map(
        (text) =>
          `"${Object.values(text)[0]}" must be translated into every language of the name: ${languages.join(', ')}`,
      ),
    ...(blankNames.length > 0 ? ['the names of the template, its goals and tasks must not be blank'] : []),
  ]
}

/** Only duplicates among the operator's own templates are faults; a built-in one may be replaced. */
function duplicateIdFaults(sources: readonly JsonFile[]): string[] {
  const first = new Map<unknown, string>()
  return sources.flatMap(({ name, content }) => {
    const { id } = Object(content) as { id?: unknown }
    const other = first.get(id)
    if (id !== undefined && other === undefined) first.set(id, name)
    return other === undefined ? [] : [`${name}: id is the same as in ${other}`]
  })
}

/** The translated texts of a template, its goals and tasks. */
function textsOf(file: CarePlanTemplateFile): Record<'names' | 'descriptions', Record<string, string>[]> {
  const parts = [file, ...file.goals.flatMap((goal) => [goal, ...goal.tasks])]
  return {
    names: parts.map(({ name }) => name),
    descriptions: parts.map(({ description }) => description).filter((text) => text !== undefined),
  }
}

function translateTemplate(
  file: CarePlanTemplateFile,
  requestedLanguage: string | undefined,
): CarePlanTemplate {
  const languages = Object.keys(file.name)
  const language =
    requestedLanguage !== undefined && languages.includes(requestedLanguage)
      ? requestedLanguage
      : (languages[0] ?? '')
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
