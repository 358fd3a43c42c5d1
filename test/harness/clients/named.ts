import assert from 'node:assert/strict'

const PLACE = /^(path|query|header|body)(\.|$)/

/** Asserts that a problem with the input, if that is what was answered, says where each violation is. */
// biome-ignore lint/suspicious/noExplicitAny: whatever was answered
export function requireNamed({ status, body }: { status: number; body: any }): void {
  if ((status !== 400 && status !== 422) || !Array.isArray(body?.errors)) return
  const places: string[] = body.errors.map(({ path }: { path: string }) => path)
  assert.ok(places.length > 0 && places.every((place) => PLACE.test(place)), JSON.stringify(body))
}
