import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CarePlanTemplates, type TemplateSource } from '../records/care-plans/templates.ts'

/**
 * The service's own care-plan templates, and those of the operator's folder.
 * @throws Error naming everything that is wrong with them
 */
export function openCarePlanTemplates(folder: string | undefined): CarePlanTemplates {
  return new CarePlanTemplates(folder === undefined ? [] : sourcesIn(folder))
}

const sourcesIn = (folder: string): TemplateSource[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ name, content: contentOf(join(folder, name)) }))

function contentOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new Error(`The care-plan template ${path} is no JSON`, { cause })
  }
}
