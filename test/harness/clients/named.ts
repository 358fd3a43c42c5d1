import assert from 'node:assert/strict'

const PLACE = /^(path|query|header|body)(\.|$)/

// biome-ignore lint/suspicious/noExplicitAny: whatever was answered
type Answered = { body: any }

/** The places that a problem document names. */
export const placesIn = ({ body }: Answered): string[] =>
  body.errors.map(({ path }: { path: string }) => path)

/** Asserts that a problem with the input, if that is what was answered, says where each violation is. */
export function requireNamed({ status, body }: Answered & { status: number }): void {
  if ((status !== 400 && status !== 422) || !Array.isArray(body?.errors)) return
  const places = placesIn({ body })
  assert.ok(places.length > 0 && places.every((place) => PLACE.test(place)), JSON.stringify(body))
}
