import assert from 'node:assert/strict'

const PLACE_PATTERN = /^(path|query|header|body)(\.|$)/

// biome-ignore lint/suspicious/noExplicitAny: any response
type Answered = { body: any }

/** The places of the violations in a problem document, or in an OperationOutcome, whose explanations begin with them. */
export const placesOfViolations = ({ body }: Answered): string[] =>
  body.resourceType === 'OperationOutcome'
    ? body.issue.map(({ diagnostics = '' }: { diagnostics?: string }) => diagnostics.split(' ', 1)[0])
    : body.errors.map(({ path }: { path: string }) => path)

/** If the response is a problem with the input, asserts that it names the place of each violation. */
export function assertPlacesNamed({ status, body }: Answered & { status: number }): void {
  if ((status !== 400 && status !== 422) || !Array.isArray(body?.errors)) return
  const places = placesOfViolations({ body })
  assert.ok(places.length > 0 && places.every((place) => PLACE_PATTERN.test(place)), JSON.stringify(body))
}
