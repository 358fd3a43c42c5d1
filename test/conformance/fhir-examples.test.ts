import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { callFhir, type Json, readFhir } from '../fhir/fhir-client.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'

/** A folder with the official test cases; `.ci/fhir-examples/check` brings them. */
const FOLDER = process.env.FHIR_EXAMPLES

const WRITABLE = resourceTypes.flatMap(({ type, interactions }) =>
  interactions.includes('create') && type !== 'Subscription' ? [type] : [],
)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** All resources of these types in a value, also within Bundles and other resources. */
function resourcesIn(value: unknown): Json[] {
  if (typeof value !== 'object' || value === null) return []
  const resources = WRITABLE.includes((value as Json).resourceType) ? [value] : []
  return [...resources, ...Object.values(value).flatMap(resourcesIn)]
}

/** Some files of the test cases are broken on purpose. */
function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** The examples of each type, each once. */
function readExamples(folder: string): Map<string, Json[]> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  )
  const resources = files.sort().flatMap((name) => resourcesIn(parseFile(join(folder, name))))
  const distinct = new Map(resources.map((one) => [JSON.stringify(one), one]))
  const byType = new Map<string, Json[]>()
  for (const one of distinct.values())
    byType.set(one.resourceType, [...(byType.get(one.resourceType) ?? []), one])
  return byType
}

const PATIENT_ELEMENTS = ['subject', 'patient', 'for']

/** An example about one of our patients. */
function aboutPatient(example: Json, ehrId: string): Json {
  const { id: _, meta: __, ...resource } = example
  const changed = Object.entries(resource).map(([name, value]) =>
    PATIENT_ELEMENTS.includes(name) ? [name, { reference: `Patient/${ehrId}` }] : [name, value],
  )
  return Object.fromEntries(changed)
}

/** Words beside a code, and what the service writes by itself. */
const isWording = (name: string, parent: Json, path: string): boolean =>
  ['display', 'unit'].includes(name) ||
  (name === 'text' && (Array.isArray(parent.coding) || !path.includes('.')))

const isSame = (input: unknown, output: unknown): boolean =>
  input === output ||
  (typeof input === 'string' &&
    typeof output === 'string' &&
    input.includes('T') &&
    Date.parse(input) === Date.parse(output))

/** The paths of what was sent and is not shown. Written anew, so that it does not share faults with the service. */
function lostIn(input: unknown, output: unknown, path: string): string[] {
  if (Array.isArray(input)) {
    const items = Array.isArray(output) ? output : []
    return input.flatMap((one, i) => {
      const lost = items.map((item) => lostIn(one, item, `${path}[${i}]`))
      return lost.sort((a, b) => a.length - b.length)[0] ?? [`${path}[${i}]`]
    })
  }
  if (!isObject(input)) return isSame(input, output) ? [] : [path]
  return Object.entries(input).flatMap(([name, value]) =>
    isWording(name, input, path)
      ? []
      : lostIn(value, isObject(output) ? output[name] : undefined, `${path}.${name}`),
  )
}

const withoutPositions = (path: string): string => path.replace(/\[\d+\]/g, '')

interface Tally {
  examples: number
  whole: number
  warned: number
  refused: number
}

describe('the official examples of FHIR R4', function () {
  this.timeout(1_800_000)
  let patient: Patient

  /** A refusal tells why, with the place of each fault in the resource. */
  function assertRefused({ status, body }: { status: number; body: Json }, about: string): void {
    assert.ok(status >= 400 && status < 500, about)
    assert.equal(body.resourceType, 'OperationOutcome', about)
    assert.ok(body.issue.length > 0, about)
    if (status === 422) for (const { expression } of body.issue) assert.ok(expression?.[0], about)
  }

  const create = (resource: Json, prefer: string) =>
    callFhir(patient, 'POST', resource.resourceType, resource, { prefer })

  /** @returns how the service took the example */
  async function tryExample(resource: Json): Promise<Exclude<keyof Tally, 'examples'>> {
    const type: string = resource.resourceType
    const strict = await create(resource, 'return=representation')
    const description = `${JSON.stringify(resource)} ${JSON.stringify(strict.body)}`
    if (strict.status === 201) {
      const { id } = strict.body
      assert.deepEqual(lostIn(resource, await readFhir(patient, `${type}/${id}`), type), [], description)
      return 'whole'
    }
    assertRefused(strict, description)
    const lenient = await create(resource, 'handling=lenient')
    if (lenient.status !== 201) {
      assertRefused(lenient, description)
      return 'refused'
    }
    const path = lenient.headers.get('location')?.replace(/^.*\/fhir\/R4\/|\/_history.*$/g, '') ?? ''
    const expressions: string[] = lenient.body.issue.flatMap(({ expression = [] }: Json) => expression)
    const places = expressions.map(withoutPositions)
    const lost = lostIn(resource, await readFhir(patient, path), type).map(withoutPositions)
    const untold = lost.filter((one) => !places.some((place) => one === place || one.startsWith(`${place}.`)))
    assert.deepEqual(untold, [], description)
    return 'warned'
  }

  it('come back as they were sent, and what the service does not keep is refused or reported', async function () {
    if (FOLDER === undefined) return this.skip()
    const tallies: Record<string, Tally> = {}
    for (const [type, examples] of readExamples(FOLDER)) {
      patient = await createPatient()
      await createPlan(patient)
      const tally = { examples: examples.length, whole: 0, warned: 0, refused: 0 }
      tallies[type] = tally
      for (const example of examples) tally[await tryExample(aboutPatient(example, patient.ehrId))] += 1
    }
    console.table(tallies)
    const storedCount = Object.values(tallies).reduce((sum, { whole, warned }) => sum + whole + warned, 0)
    assert.ok(storedCount > 0)
  })
})
