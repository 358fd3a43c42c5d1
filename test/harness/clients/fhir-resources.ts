import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { env, pid } from 'node:process'

interface Resource {
  resourceType?: unknown
  type?: unknown
  entry?: { resource?: Resource }[]
}

/** The resources of a Bundle, unless it is a document, which counts as a whole. */
const resourcesIn = (body: Resource): Resource[] =>
  body.resourceType === 'Bundle' && body.type !== 'document'
    ? (body.entry ?? []).flatMap(({ resource }) => (resource ? resourcesIn(resource) : []))
    : [body]

const writtenLines = new Set<string>()

/**
 * Appends the resources of a response to a file in the folder FHIR_RESOURCES, if it is set, so that `.ci/fhir/check` validates what
 * the tests have seen.
 */
export function keepFhirResources(body: unknown): void {
  const folder = env.FHIR_RESOURCES
  if (folder === undefined) return
  for (const resource of resourcesIn(body as Resource)) {
    const line = JSON.stringify(resource)
    if (writtenLines.has(line)) continue
    writtenLines.add(line)
    appendFileSync(join(folder, `${pid}.ndjson`), `${line}\n`)
  }
}
