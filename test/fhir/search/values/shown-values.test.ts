import assert from 'node:assert/strict'
import fc, { type GeneratorValue } from 'fast-check'
import { type ClassName, classKindOf, MEASUREMENT_KINDS } from '../../../../records/kinds.ts'
import { toClassForm } from '../../../../schemas/forms/class-form.ts'
import { createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import {
  arbitraryMeasurement,
  arbitraryValues,
} from '../../../harness/care/samples/arbitrary-measurements.ts'
import { createClassClient } from '../../../harness/clients/class-client.ts'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { bySize } from '../../../harness/test-size.ts'
import { idsIn, type Json, readFhir } from '../../fhir-client.ts'

/** The elements of a resource at a path, through lists. */
const elementsAt = (resource: Json, path: string): Json[] =>
  path
    .split('.')
    .reduce<Json[]>(
      (elements, name) => elements.flatMap((one) => (one[name] === undefined ? [] : [one[name]].flat())),
      [resource],
    )

/** A criterion: its text, and whether an element of a resource matches it. */
type Criterion = [text: string, matches: (element: Json) => boolean]

/** A period as its bounds in milliseconds, the end exclusive. */
type Range = readonly [from: number, to: number]

function rangeOf(shown: Json): Range {
  if (typeof shown !== 'string')
    return [
      shown.start === undefined ? Number.NEGATIVE_INFINITY : rangeOf(shown.start)[0],
      shown.end === undefined ? Number.POSITIVE_INFINITY : rangeOf(shown.end)[1],
    ]
  const end = new Date(shown)
  if (shown.length === 4) end.setUTCFullYear(end.getUTCFullYear() + 1)
  else if (shown.length === 7) end.setUTCMonth(end.getUTCMonth() + 1)
  else if (shown.length === 10) end.setUTCDate(end.getUTCDate() + 1)
  else end.setTime(end.getTime() + 1)
  return [Date.parse(shown), end.getTime()]
}

const contains = ([from, to]: Range, [otherFrom, otherTo]: Range) => from <= otherFrom && otherTo <= to

const DATE_TESTS: Record<string, (searched: Range, shown: Range) => boolean> = {
  eq: contains,
  ne: (searched, shown) => !contains(searched, shown),
  gt: ([, to], [, shownTo]) => shownTo > to,
  lt: ([from], [shownFrom]) => shownFrom < from,
  ge: ([from], [, shownTo]) => shownTo > from,
  le: ([, to], [shownFrom]) => shownFrom < to,
  sa: ([, to], [shownFrom]) => shownFrom >= to,
  eb: ([from], [, shownTo]) => shownTo <= from,
}

function dateCriterion(g: GeneratorValue, shown: Json): Criterion {
  const time: string = typeof shown === 'string' ? shown : (shown.start ?? shown.end)
  const length = g(fc.constantFrom, 4, 7, 10, time.length)
  const isPart = length <= 10 || time.length === 10
  const searched = isPart ? time.slice(0, length) : new Date(time).toISOString()
  const prefix = g(fc.constantFrom, ...Object.keys(DATE_TESTS))
  const test = DATE_TESTS[prefix] as (typeof DATE_TESTS)[string]
  return [`${prefix}${searched}`, (element) => test(rangeOf(searched), rangeOf(element))]
}

const NUMBER_TESTS: Record<string, (searched: number, shown: number, tolerance: number) => boolean> = {
  eq: (searched, shown, tolerance) => shown >= searched - tolerance && shown < searched + tolerance,
  ne: (searched, shown, tolerance) => shown < searched - tolerance || shown >= searched + tolerance,
  gt: (searched, shown) => shown > searched,
  lt: (searched, shown) => shown < searched,
  ge: (searched, shown) => shown >= searched,
  le: (searched, shown) => shown <= searched,
}

function quantityCriterion(g: GeneratorValue, { value }: Json): Criterion {
  const [, decimals = ''] = String(value).split('.')
  const prefix = g(fc.constantFrom, ...Object.keys(NUMBER_TESTS))
  const test = NUMBER_TESTS[prefix] as (typeof NUMBER_TESTS)[string]
  return [`${prefix}${value}`, (element) => test(value, element.value, 0.5 * 10 ** -decimals.length)]
}

/** Escapes the signs that separate the parts of a value. */
const escapeText = (text: string) => text.replace(/[\\,|$]/g, '\\$&')

function codingCriterion(g: GeneratorValue, { system, code }: Json): Criterion {
  const [of, by] = [escapeText(system), escapeText(code)]
  return g(
    fc.constantFrom<Criterion[]>,
    [by, (one) => one.code === code],
    [`${of}|`, (one) => one.system === system],
    [`${of}|${by}`, (one) => one.system === system && one.code === code],
  )
}

const codeCriterion = (_: GeneratorValue, code: Json): Criterion => [code, (one) => one === code]

type Parameter = [path: string, criterion: (g: GeneratorValue, element: Json) => Criterion]

const PARAMETERS: Record<string, Record<string, Parameter>> = {
  Observation: {
    date: ['effectiveDateTime', dateCriterion],
    status: ['status', codeCriterion],
    code: ['code.coding', codingCriterion],
    'component-code': ['component.code.coding', codingCriterion],
    'value-quantity': ['valueQuantity', quantityCriterion],
    'component-value-quantity': ['component.valueQuantity', quantityCriterion],
    _lastUpdated: ['meta.lastUpdated', dateCriterion],
  },
  Condition: {
    code: ['code.coding', codingCriterion],
    'clinical-status': ['clinicalStatus.coding', codingCriterion],
    'verification-status': ['verificationStatus.coding', codingCriterion],
    'onset-date': ['onsetDateTime', dateCriterion],
    'recorded-date': ['recordedDate', dateCriterion],
  },
  MedicationStatement: {
    code: ['medicationCodeableConcept.coding', codingCriterion],
    status: ['status', codeCriterion],
    effective: ['effectivePeriod', dateCriterion],
  },
  Immunization: {
    'vaccine-code': ['vaccineCode.coding', codingCriterion],
    date: ['occurrenceDateTime', dateCriterion],
  },
  AllergyIntolerance: {
    code: ['code.coding', codingCriterion],
    category: ['category', codeCriterion],
    'last-date': ['lastOccurrence', dateCriterion],
  },
}

const ALL_PARAMETERS = Object.entries(PARAMETERS).flatMap(([type, parameters]) =>
  Object.entries(parameters).map(([name, parameter]) => [type, name, parameter] as const),
)

const CLASSES: readonly ClassName[] = ['Diagnosis', 'Medication', 'Immunisation', 'AdverseReaction']

/** Whether FHIR can show the system of the code: a URI has no spaces, and the records may have any text. */
const hasUri = ({ code }: Record<string, unknown>) => !/\s/.test((code as Json)?.system ?? '')

describe('a search in FHIR', () => {
  let patient: Patient
  const resources: Record<string, Json[]> = {}
  const search = async (type: string, criteria: string) =>
    readFhir(patient, `${type}?patient=${patient.ehrId}&_count=1000${criteria}`)
  before(async () => {
    patient = await createPatient()
    const carePlanId = await createPlan(patient)
    for (const kind of MEASUREMENT_KINDS)
      for (const body of fc.sample(arbitraryMeasurement(kind), { numRuns: 6, seed: 1 }))
        assertStatus(await patient.call('POST', `procedure/${kind.path}`, { ...body, carePlanId }), 201)
    for (const name of CLASSES) {
      const kind = classKindOf(name)
      for (const values of fc.sample(arbitraryValues(kind).filter(hasUri), { numRuns: 5, seed: 1 }))
        await createClassClient(patient)
          .post(name, { ...toClassForm(kind.fields, values), ehrId: patient.ehrId })
          .expect(201)
    }
    for (const type of Object.keys(PARAMETERS))
      resources[type] = (await search(type, '')).entry.map(({ resource }: Json) => resource)
  })

  it('finds the resources that show what it asks for', async () => {
    const property = fc.asyncProperty(fc.gen(), async (g) => {
      const [type, name, [path, criterionOf]] = g(fc.constantFrom, ...ALL_PARAMETERS)
      const stored = resources[type] ?? []
      const shown = stored.flatMap((resource) => elementsAt(resource, path))
      fc.pre(shown.length > 0)
      const criteria = Array.from({ length: g(fc.constantFrom, 1, 2) }, () =>
        criterionOf(g, g(fc.constantFrom, ...shown)),
      )
      const isNot = /code|status|category/.test(name) && g(fc.boolean)
      const text = criteria.map(([one]) => encodeURIComponent(one)).join()
      const expected = stored.filter(
        (resource) =>
          elementsAt(resource, path).some((element) => criteria.some(([, matches]) => matches(element))) !==
          isNot,
      )
      const foundIds = idsIn(await search(type, `&${name}${isNot ? ':not' : ''}=${text}`))
      assert.deepEqual(foundIds.sort(), expected.map(({ id }) => id).sort(), `${type}?${name}=${text}`)
    })
    await fc.assert(property, { numRuns: bySize(200, 2000) })
  })
})
