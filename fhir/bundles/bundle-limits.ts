import type { FhirResource } from '../../records/fhir/mapping.ts'
import { MAX_RESPONSE_MEGABYTES, ReadBudget } from '../../records/limits/read-limits.ts'
import { COMMAND_TIMEOUT_MS, startCountdown } from '../../records/store/reading/deadlines.ts'
import { ServiceError } from '../../schemas/errors.ts'

const MAX_RESOURCES = 5_000

/** The limits that all entries of a Bundle share: the size of their responses, and the time of their reads. */
export class BundleLimits {
  readonly #budget = new ReadBudget()
  readonly #timeLeft = startCountdown(COMMAND_TIMEOUT_MS)
  #resourcesLeft = MAX_RESOURCES

  /** @throws DeadlineExceeded */
  requireTime(): void {
    this.#timeLeft()
  }

  /** @throws ContentTooLarge when the counted resources exceed those of a response */
  requireBudget(): void {
    if (!this.#budget.isUsedUp && this.#resourcesLeft >= 0) return
    const message = `exceeds the response: at most ${MAX_RESOURCES} resources and ${MAX_RESPONSE_MEGABYTES} MB`
    throw new ServiceError('ContentTooLarge', {
      detail: 'The response of the Bundle would be too large. Send the entry in another request.',
      violations: [{ path: 'Bundle.entry', code: 'too-costly', message }],
    })
  }

  /** Counts the resource of a response; a Bundle counts as the resources in it. */
  count<T extends { resource?: FhirResource | undefined }>(response: T): T {
    const { resource } = response
    if (!resource) return response
    this.#budget.isUsedUpBy(resource)
    const isBundle = resource.resourceType === 'Bundle' && Array.isArray(resource.entry)
    this.#resourcesLeft -= isBundle ? (resource.entry as unknown[]).length : 1
    return response
  }
}
