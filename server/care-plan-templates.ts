import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CarePlanTemplates, type TemplateSource } from '../records/care-plans/templates/templates.ts'

/**
 * The service's own care-plan templates, and those of the operator's folder.
 * @throws Error naming everything that is wrong with them
 */
export function openCarePlanTemplates(folder: string | undefined): CarePlanTemplates {
  return new CarePlanTemplates(folder === undefined ? [] : sourcesIn(folder))
}

function sourcesIn(folder: string): TemplateSource[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
    return names.sort().map((name) => ({ name, ...contentOf(join(folder, name)) }))
  } catch (error) {
    return [{ name: 'CARE_PLAN_TEMPLATES', fault: `cannot be read: ${(error as Error).message}` }]
  }
}

function contentOf(path: string): Omit<TemplateSource, 'name'> {
  try {
    return { content: JSON.parse(readFileSync(path, 'utf8')) }
  } catch (error) {
    const kind = error instanceof SyntaxError ? 'is no JSON' : 'cannot be read'
    return { fault: `${kind}: ${(error as Error).message}` }
  }
}
