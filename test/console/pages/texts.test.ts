import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { classKinds } from '../../../records/kinds.ts'
import { isMeasurementKind } from '../../../records/measurements/measurement.ts'
import { call } from '../../harness/clients/path-client.ts'

interface Schema {
  [keyword: string]: unknown
}
interface Operation {
  requestBody?: { content: Record<string, { schema?: Schema }> }
}

const SOURCE = 'console/src'

const texts = Object.fromEntries(
  ['en', 'nl'].map((language) => [
    language,
    JSON.parse(readFileSync(join(SOURCE, `texts/console.${language}.json`), 'utf8')) as Record<
      string,
      string
    >,
  ]),
)

/** @throws AssertionError that lists the ids without a text */
const assertTexts = (ids: Iterable<string>): void => {
  for (const [language, catalogue] of Object.entries(texts))
    assert.deepEqual(
      [...new Set(ids)].filter((id) => catalogue[id] === undefined),
      [],
      `add these to console.${language}.json`,
    )
}

/** Rules of JSON Schema under the codes of their violations; a form sends no property that its service does not know. */
const CODES: Readonly<Record<string, string>> = {
  additionalProperties: 'unknown',
  unevaluatedProperties: 'unknown',
}
const RULES = (
  'type enum const format pattern required minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum ' +
  'multipleOf minItems maxItems uniqueItems minProperties maxProperties anyOf oneOf not additionalProperties ' +
  'unevaluatedProperties'
).split(' ')

const measurementKinds = Object.values(classKinds).flatMap((kind) => (isMeasurementKind(kind) ? kind : []))

/** The rules that a schema has somewhere. */
function rulesIn(part: unknown, schemas: Record<string, Schema>, seen = new Set<unknown>()): string[] {
  if (typeof part !== 'object' || part === null || seen.has(part)) return []
  seen.add(part)
  const { $ref, ...schema } = part as Schema
  const referred =
    typeof $ref === 'string' ? rulesIn(schemas[$ref.split('/').at(-1) ?? ''], schemas, seen) : []
  const own = RULES.filter((rule) => rule in schema).map((rule) => CODES[rule] ?? rule)
  return [...referred, ...own, ...Object.values(schema).flatMap((value) => rulesIn(value, schemas, seen))]
}

describe('the texts of the console', () => {
  it('name all presets of thresholds', () => {
    const presets = measurementKinds
      .filter(({ quantities }) => Object.keys(quantities).length > 0)
      .flatMap(({ thresholdTarget }) => Object.keys(thresholdTarget.presets))
    assert.ok(presets.length > 3)
    assertTexts(presets.map((name) => `thresholds.${name}`))
  })

  it('name the usual unit of all quantities', () => {
    const quantities = measurementKinds.flatMap((kind) => Object.values(kind.quantities))
    assertTexts(quantities.map(({ unit }) => `unit.${unit}`))
  })

  it('name the lines of all measurements and questionnaires, and their units', () => {
    const lines = measurementKinds.flatMap(({ series }) => Object.entries(series))
    assert.ok(lines.length > 10)
    assertTexts(lines.flatMap(([name, { unit }]) => [`quantity.${name}`, `unit.${unit}`]))
  })

  it('explain all faults that the schemas of sent forms can find', async () => {
    const { paths, components } = (await call('GET', '/openapi.json')).body
    const sources = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /[.]tsx?$/.test(path),
    )
    const sentPaths = sources
      .map((path) => readFileSync(join(SOURCE, path), 'utf8'))
      .flatMap((source) => [...source.matchAll(/'(\/[^'\n]+)'/g)].map(([, path = '']) => path))
      .filter((path) => path in paths)
    assert.ok(sentPaths.length > 20)
    const bodies = [...new Set(sentPaths)].flatMap((path) =>
      ['post', 'put', 'delete'].flatMap((method) => {
        const { requestBody } = (paths[path][method] ?? {}) as Operation
        return Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => schema ?? [])
      }),
    )
    assertTexts(
      bodies.flatMap((schema) => rulesIn(schema, components.schemas)).map((code) => `violation.${code}`),
    )
  })
})
