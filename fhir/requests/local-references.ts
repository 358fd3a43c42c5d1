import { isElement } from '../../records/fhir/element-paths.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'

/**
 * A resource whose references to this service are relative. Those to other servers stay, and name nothing here.
 * @param base the address of the FHIR API
 */
export const localReferences = (resource: FhirResource, base: string): FhirResource =>
  withLocalTexts(resource, `${base}/`, resource.resourceType === 'Subscription') as FhirResource

/** @param everywhere also in texts that are no references, such as the criteria of a subscription */
function withLocalTexts(value: unknown, address: string, everywhere: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => withLocalTexts(one, address, everywhere))
  if (!isElement(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === 'string' && (everywhere || name === 'reference')
        ? member.replaceAll(address, '')
        : withLocalTexts(member, address, everywhere),
    ]),
  )
}
