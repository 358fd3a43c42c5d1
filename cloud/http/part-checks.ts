import type { Response } from 'express'
import { type ParseRequest, Refusal } from './request/parse-request.ts'
import { isBatch, type RequestPart } from './request/request-parts.ts'
import { setRefusals } from './response/response-pipeline.ts'

/**
 * Checks the parts of a request. A batch answers a refused part in its place, and carries out the others, as Parse does
 * with those that fail later. Any other request is refused itself.
 */
export class PartChecks {
  readonly #req: ParseRequest
  readonly #parts: readonly RequestPart[]
  readonly #refusals = new Map<RequestPart, Refusal>()

  constructor(req: ParseRequest, parts: readonly RequestPart[]) {
    this.#req = req
    this.#parts = parts
  }

  get acceptedParts(): RequestPart[] {
    return this.#parts.filter((part) => !this.#refusals.has(part))
  }

  /** Runs a check on each accepted part. @throws Refusal unless the request is a batch */
  async run(check: (part: RequestPart) => void | Promise<void>): Promise<void> {
    for (const part of this.acceptedParts)
      try {
        await check(part)
      } catch (error) {
        if (!(error instanceof Refusal) || !isBatch(this.#req)) throw error
        this.#refusals.set(part, error)
      }
  }

  /** Removes the refused parts from the batch, so that Parse does not carry them out. */
  removeRefused(res: Response): void {
    if (this.#refusals.size === 0) return
    this.#req.body.requests = this.acceptedParts.map(({ carrier }) => carrier)
    setRefusals(
      res,
      this.#parts.map((part) => this.#refusals.get(part)),
    )
  }
}
