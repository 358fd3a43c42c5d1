import { replaceTexts } from '../../records/fhir/element-paths.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'

/**
 * A resource whose references to this service are relative. Those to other servers stay, and name nothing here.
 * @param base the URL of the FHIR API
 */
export function localReferences(resource: FhirResource, base: string): FhirResource {
  const prefix = `${base}/`
  // The criteria of a subscription are not a reference, but may contain the URL.
  const everywhere = resource.resourceType === 'Subscription'
  return replaceTexts(resource, (text, name) =>
    everywhere || name === 'reference' ? text.replaceAll(prefix, '') : text,
  )
}
