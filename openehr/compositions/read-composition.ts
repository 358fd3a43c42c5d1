import { runInTimeSlices, TimeSlice } from '../../records/limits/time-slice.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { readXml, unreadableXml } from '../formats/xml.ts'
import type { Template } from '../opt/constraints.ts'
import { MAX_VIOLATIONS, type RmObject, readCanonicalJsonInSteps } from '../rm/canonical-json.ts'
import { xmlToJson } from '../rm/canonical-xml.ts'
import { fromSimplified } from '../simplified/from-simplified.ts'
import { readFlat, readStructured } from '../simplified/simple-tree.ts'
import { templateViolationsInSteps } from '../validation/template-validation.ts'

/** Maximum nesting of a composition, in either format. */
export const MAX_COMPOSITION_DEPTH = 200

/** JSON in one of the simplified formats, by the ids of a web template. */
export interface SimplifiedComposition {
  format: 'flat' | 'structured'
  json: unknown
  /** Undefined: the template of the composition that it replaces. */
  templateId: string | undefined
}

/** Canonical JSON as it was sent, bytes of XML, or a simplified format. */
export type SentComposition = { json: unknown } | { xml: Uint8Array } | SimplifiedComposition

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
 * @param currentTime for times that the simplified formats may leave out
 * @throws MalformedRequest for malformed XML; InvalidInput if it violates the model; RuleViolated with all
 * violations if it names no template or violates its template
 */
export async function readComposition<T extends { template: Template }>(
  input: SentComposition,
  find: (templateId: string) => Promise<T | undefined>,
  currentTime = new Date(),
  slice = new TimeSlice(),
): Promise<{ object: RmObject; template: T }> {
  const { json, violations: unread } = await readSent(input, find, currentTime, slice)
  const { object, violations: parsingViolations } = await runInTimeSlices(
    readCanonicalJsonInSteps(json, 'COMPOSITION'),
    slice,
  )
  const violations = [...unread, ...parsingViolations]
  const templateId = valueAt(object, 'archetype_details', 'template_id', 'value')
  const template = typeof templateId === 'string' ? await find(templateId) : undefined
  const broken =
    object && template
      ? await runInTimeSlices(templateViolationsInSteps(template.template, object), slice)
      : []
  if (violations.length > 0 || object === undefined)
    throw new ServiceError('InvalidInput', {
      violations: [...violations, ...selectUnreported(broken, violations)],
    })
  if (template === undefined)
    throw new ServiceError('RuleViolated', { violations: [unknownTemplateViolation(templateId)] })
  if (broken.length > 0) throw new ServiceError('RuleViolated', { violations: broken })
  return { object, template }
}

/** Without what the template misses because the model refuses it, or misses it, too. */
const selectUnreported = (broken: readonly Violation[], violations: readonly Violation[]): Violation[] =>
  broken.filter(
    ({ code, path }) =>
      code !== 'existence' || !violations.some((one) => one.path === path || one.path.startsWith(`${path}.`)),
  )

/** The canonical JSON of what was sent, as far as it can be read. */
async function readSent(
  input: SentComposition,
  find: (templateId: string) => Promise<{ template: Template } | undefined>,
  currentTime: Date,
  slice: TimeSlice,
): Promise<{ json: unknown; violations: Violation[] }> {
  if ('xml' in input) return { json: xmlToJson(readXmlRoot(input.xml), 'COMPOSITION'), violations: [] }
  if (!('format' in input)) return { json: input.json, violations: [] }
  const template = input.templateId === undefined ? undefined : await find(input.templateId)
  if (template === undefined)
    throw new ServiceError('RuleViolated', { violations: [unknownTemplateViolation(input.templateId)] })
  const { root, violations } = await (input.format === 'flat'
    ? readFlat(input.json as Record<string, unknown>, slice)
    : readStructured(input.json, slice))
  const read = await fromSimplified(template.template, root, currentTime.toISOString(), slice)
  return { json: read.composition, violations: [...violations, ...read.violations].slice(0, MAX_VIOLATIONS) }
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
