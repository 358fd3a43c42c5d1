import type { FhirResource } from '../../records/fhir/mapping.ts'
import { MAX_RESPONSE_MEGABYTES, ReadBudget } from '../../records/limits/read-limits.ts'
import { COMMAND_TIMEOUT_MS, startCountdown } from '../../records/store/reading/deadlines.ts'
import { ServiceError } from '../../schemas/errors.ts'

const MAX_RESOURCES = 5_000

/** The limits that all parts of a Bundle share: their size, and the time of the reads. */
export class BundleLimits {
  readonly #advice: string
  readonly #budget = new ReadBudget()
  readonly #timeLeft = startCountdown(COMMAND_TIMEOUT_MS)
  #resourcesLeft = MAX_RESOURCES

  /** @param advice for the client whose Bundle would be too large */
  constructor(advice = 'Send the entry in another request.') {
    this.#advice = advice
  }

  /** @throws DeadlineExceeded */
  requireTime(): void {
    this.#timeLeft()
  }

  /** @throws ContentTooLarge when the counted resources exceed those of a response */
  requireBudget(): void {
    if (!this.#budget.isUsedUp && this.#resourcesLeft >= 0) return
    const message = `exceeds the response: at most ${MAX_RESOURCES} resources and ${MAX_RESPONSE_MEGABYTES} MB`
    throw new ServiceError('ContentTooLarge', {
      detail: `The Bundle would be too large. ${this.#advice}`,
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

  /** Counts found resources, each of which becomes a part of the Bundle. @throws ContentTooLarge */
  countFound(resources: readonly FhirResource[]): readonly FhirResource[] {
    for (const resource of resources) this.count({ resource })
    this.requireBudget()
    return resources
  }
}
