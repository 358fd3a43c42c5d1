import { setImmediate as giveWay } from 'node:timers/promises'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { readXml, unreadableXml } from '../formats/xml.ts'
import type { Template } from '../opt/constraints.ts'
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'
import { xmlToJson } from '../rm/canonical-xml.ts'
import { templateViolations } from '../validation/template-validation.ts'

/** Maximum nesting of a composition, in either format. */
export const MAX_COMPOSITION_DEPTH = 200

/** Canonical JSON as it was sent, or bytes of XML. */
export type SentComposition = { json: unknown } | { xml: Uint8Array }

/** The value below a path of an object: `archetype_details`, `template_id`, `value`. */
export function valueAt(object: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
    object,
  )
}

/**
 * Reads a composition and checks it against the reference model and its template.
 * @param find finds a template by id
 * @throws MalformedRequest for malformed XML; InvalidInput if it violates the model; RuleViolated with all
 * violations if it names no template or violates its template
 */
export async function readComposition<T extends { template: Template }>(
  sent: SentComposition,
  find: (templateId: string) => Promise<T | undefined>,
): Promise<{ object: RmObject; template: T }> {
  const json = 'xml' in sent ? xmlToJson(readXmlRoot(sent.xml), 'COMPOSITION') : sent.json
  // A composition may have 4 MB, so each step of its reading lets other requests run.
  await giveWay()
  const { object, violations } = readCanonicalJson(json, 'COMPOSITION')
  await giveWay()
  const templateId = valueAt(object, 'archetype_details', 'template_id', 'value')
  const template = typeof templateId === 'string' ? await find(templateId) : undefined
  const broken = object && template ? templateViolations(template.template, object) : []
  if (violations.length > 0 || object === undefined)
    throw new ServiceError('InvalidInput', { violations: [...violations, ...broken] })
  if (template === undefined)
    throw new ServiceError('RuleViolated', { violations: [unknownTemplateViolation(templateId)] })
  if (broken.length > 0) throw new ServiceError('RuleViolated', { violations: broken })
  return { object, template }
}

function readXmlRoot(bytes: Uint8Array) {
  const root = readXml(bytes, MAX_COMPOSITION_DEPTH)
  if (root.name === 'composition' || root.type === 'COMPOSITION') return root
  throw unreadableXml('the root element must be composition')
}

const unknownTemplateViolation = (templateId: unknown): Violation => ({
  path: 'archetype_details.template_id.value',
  code: templateId === undefined ? 'required' : 'template',
  message: templateId === undefined ? 'is required' : 'must be the id of a stored template',
})
