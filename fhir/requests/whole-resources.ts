import { elementAt, isElement, memberOf } from '../../records/fhir/element-paths.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { MAX_REPORTED_VIOLATIONS, type Violation } from '../../schemas/validation/violations.ts'
import { SUBSETTED } from '../bundles/result-bundles.ts'

const isPart = (value: unknown): value is object => Array.isArray(value) || isElement(value)

/** The paths of lists and elements without content, which FHIR forbids in JSON. */
function emptyPaths(value: unknown, path: string): string[] {
  if (!isPart(value)) return []
  const entries = Object.entries(value)
  if (entries.length === 0) return [path]
  return entries.flatMap(([name, one]) =>
    emptyPaths(one, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`),
  )
}

const isSubsetted = (resource: FhirResource): boolean =>
  [elementAt(resource, 'meta.tag') ?? []]
    .flat()
    .some((tag) => (['system', 'code'] as const).every((name) => memberOf(tag, name) === SUBSETTED[name]))

/**
 * Refuses a resource of which a search has left out elements: to store it would delete these. Empty elements say nothing,
 * and FHIR forbids them.
 * @throws RuleViolated
 */
export function requireWhole(resource: FhirResource): void {
  const { resourceType: type } = resource
  const subsetted: Violation[] = isSubsetted(resource)
    ? [
        {
          path: `${type}.meta.tag`,
          code: 'not-supported',
          message: 'must not be SUBSETTED: elements are missing. Read the whole resource, and change that',
        },
      ]
    : []
  const empty = emptyPaths(resource, type).map((path) => ({
    path,
    code: 'required',
    message: 'must not be empty. Leave the element out',
  }))
  const violations = [...subsetted, ...empty].slice(0, MAX_REPORTED_VIOLATIONS)
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}
