import { randomUUID } from 'node:crypto'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { shortenName } from '../../schemas/validation/violations.ts'
import type { OutcomeIssue } from '../outcome/issue.ts'
import { operationOutcome } from '../outcome/issue.ts'
import type { ParsedSearch, SummaryMode } from '../search/parse-search.ts'
import type { FoundResources, ResourceVersion } from '../sources/resource-source.ts'

interface BundleLink {
  relation: 'self' | 'first' | 'next'
  url: string
}

const urlWith = (path: string, parameters: readonly (readonly [string, string])[]): string =>
  parameters.length === 0
    ? path
    : `${path}?${new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value]))}`

/** The links of a page. @param path the URL without parameters @param used those that made this page */
function pageLinks(path: string, used: ParsedSearch['used'], next: string | null | undefined): BundleLink[] {
  const first = used.filter(([name]) => name !== '_cursor')
  return [
    { relation: 'self', url: urlWith(path, used) },
    { relation: 'first', url: urlWith(path, first) },
    ...(next ? [{ relation: 'next' as const, url: urlWith(path, [...first, ['_cursor', next]]) }] : []),
  ]
}

/** The absolute URL of a resource. */
const urlOf = (base: string, { resourceType, id }: Pick<FhirResource, 'resourceType' | 'id'>): string =>
  `${base}/${resourceType}/${id}`

/**
 * The result of a search.
 * @param path the URL of the search without its parameters
 * @param issues what the client must know of the result
 */
export function searchBundle(
  base: string,
  path: string,
  search: Pick<ParsedSearch, 'used' | 'summary' | 'elements'>,
  matches: FoundResources,
  {
    included = [],
    issues = [],
  }: { included?: readonly FhirResource[]; issues?: readonly OutcomeIssue[] } = {},
): FhirResource {
  const narrow = (resource: FhirResource) => selectElements(resource, search)
  const entry = [
    ...matches.resources.map((resource) => entryOf(base, narrow(resource), 'match')),
    ...included.map((resource) => entryOf(base, resource, 'include')),
    ...(issues.length > 0 ? [outcomeEntry(issues)] : []),
  ]
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    ...(matches.total !== undefined && { total: matches.total }),
    link: pageLinks(path, search.used, matches.next),
    ...(entry.length > 0 && { entry }),
  }
}

const entryOf = (base: string, resource: FhirResource, mode: 'match' | 'include') => ({
  fullUrl: urlOf(base, resource),
  resource,
  search: { mode },
})

/** Entries need a URL, and the resources in them an id, though nobody can read these. */
function outcomeEntry(issues: readonly OutcomeIssue[]) {
  const id = randomUUID()
  const resource = { ...operationOutcome(issues), id }
  return { fullUrl: `urn:uuid:${id}`, resource, search: { mode: 'outcome' } }
}

/** Reports a parameter that a search ignored. */
export const ignoredParameterIssue = (name: string): OutcomeIssue => ({
  severity: 'warning',
  code: 'not-supported',
  diagnostics: `${shortenName(name)} is not a search parameter of this type and was ignored`,
  location: [`http.${shortenName(name)}`],
})

/** Reports that a page lacks resources that a search asked to include. */
export const cutIncludeIssue = ({ name, value }: { name: string; value: string }): OutcomeIssue => ({
  severity: 'warning',
  code: 'too-costly',
  diagnostics: `${shortenName(value)} includes more resources than a page can have. Search for them by themselves`,
  location: [`http.${name}`],
})

export const SUBSETTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED',
}

/** Elements that every selection contains, because a resource is not valid without them. */
const ALWAYS_SHOWN = [
  'resourceType',
  'id',
  'meta',
  'status',
  'intent',
  'code',
  'subject',
  'patient',
  'lifecycleStatus',
  'description',
]

/** Texts that a summary leaves out. */
const DETAILS = ['note', 'text', 'extension', 'photo', 'contact', 'communication', 'reaction']

const isShownIn = (name: string, summary: SummaryMode, elements: readonly string[]): boolean => {
  if (ALWAYS_SHOWN.includes(name)) return true
  if (elements.length > 0) return elements.includes(name)
  if (summary === 'text') return name === 'text'
  return summary === 'true' ? !DETAILS.includes(name) : name !== 'text'
}

/** The elements of a resource that a client asked for; a tag shows that others are missing. */
export function selectElements(
  resource: FhirResource,
  { summary, elements }: Pick<ParsedSearch, 'summary' | 'elements'>,
): FhirResource {
  if (elements.length === 0 && (summary === 'false' || summary === 'count')) return resource
  const selectedEntries = Object.entries(resource).filter(([name]) => isShownIn(name, summary, elements))
  const { tag = [], ...meta } = (resource.meta ?? {}) as { tag?: object[] }
  return {
    ...(Object.fromEntries(selectedEntries) as FhirResource),
    meta: { ...meta, tag: [...tag, SUBSETTED] },
  }
}

const METHODS = { create: 'POST', update: 'PUT', delete: 'DELETE' } as const
const STATUSES = { create: '201', update: '200', delete: '204' } as const

/**
 * The versions of resources, newest first.
 * @param path the URL of the history without its parameters
 */
export function historyBundle(
  base: string,
  path: string,
  parameters: ParsedSearch['used'],
  versions: readonly ResourceVersion[],
  { next, total }: { next: string | null; total?: number | undefined },
): FhirResource {
  return {
    resourceType: 'Bundle',
    type: 'history',
    ...(total !== undefined && { total }),
    link: pageLinks(path, parameters, next),
    ...(versions.length > 0 && { entry: versions.map((one) => versionEntry(base, one)) }),
  }
}

/** The interaction that created a version of a resource, in a Bundle of the type `history`. */
export const versionEntry = (base: string, { type, id, version, at, action, resource }: ResourceVersion) => ({
  fullUrl: `${base}/${type}/${id}`,
  ...(resource && { resource }),
  request: { method: METHODS[action], url: action === 'create' ? type : `${type}/${id}` },
  response: {
    status: STATUSES[action],
    etag: `W/"${version}"`,
    lastModified: at,
  },
})
