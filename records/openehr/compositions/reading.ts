import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { readXml, unreadable } from '../formats/xml.ts'
import type { Template } from '../opt/constraints.ts'
import { canonical, type RmObject } from '../rm/canonical.ts'
import { jsonOf } from '../rm/in-xml.ts'
import { violationsIn } from '../validation/validate.ts'

/** How deeply a composition may be nested, in either format. */
export const DEPTH = 200

/** Canonical JSON as it was sent, or bytes of XML. */
export type Sent = { json: unknown } | { xml: Uint8Array }

/** What of an object stands below `path`: `archetype_details`, `template_id`, `value`. */
export function within(object: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
    object,
  )
}

/**
 * Reads a composition and holds it against the model and its template.
 * @param find the template of that id, if there is one
 * @throws MalformedRequest for no XML; InvalidInput for what is not of the model; RuleViolated for what breaks its
 * template, or names none: with every violation
 */
export async function readComposition<T extends { template: Template }>(
  sent: Sent,
  find: (templateId: string) => Promise<T | undefined>,
): Promise<{ object: RmObject; template: T }> {
  const json = 'xml' in sent ? jsonOf(rootOf(sent.xml), 'COMPOSITION') : sent.json
  const { object, violations } = canonical(json, 'COMPOSITION')
  const templateId = within(object, 'archetype_details', 'template_id', 'value')
  const template = typeof templateId === 'string' ? await find(templateId) : undefined
  const broken = object && template ? violationsIn(template.template, object) : []
  if (violations.length > 0 || object === undefined)
    throw new ServiceError('InvalidInput', { violations: [...violations, ...broken] })
  if (template === undefined)
    throw new ServiceError('RuleViolated', { violations: [unknownTemplate(templateId)] })
  if (broken.length > 0) throw new ServiceError('RuleViolated', { violations: broken })
  return { object, template }
}

function rootOf(bytes: Uint8Array) {
  const root = readXml(bytes, DEPTH)
  if (root.name === 'composition' || root.type === 'COMPOSITION') return root
  throw unreadable('its root must be a composition')
}

const unknownTemplate = (templateId: unknown): Violation => ({
  path: 'archetype_details.template_id.value',
  code: templateId === undefined ? 'required' : 'template',
  message: templateId === undefined ? 'is required' : 'must be the id of a template that is stored',
})
