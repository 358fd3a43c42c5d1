import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { MappedKind } from '../../fhir/resources/kinds/kind-streams.ts'
import { renderRecord } from '../../fhir/resources/render.ts'
import { mergeFields } from '../../fhir/resources/sent-resource.ts'
import { defaultsOf } from '../../records/ehr-records/validation/record-bodies.ts'
import { formatFhirJson, parseFhirJson } from '../../records/fhir/decimal.ts'
import { isMapped } from '../../records/fhir/mapping.ts'
import { CLASS_NAMES, type ClassName, classKindOf, kinds } from '../../records/kinds.ts'
import { isMeasurementKind } from '../../records/measurements/measurement.ts'
import { fromPathNames } from '../../schemas/forms/fields.ts'
import { createByPath, newPlace, type Place } from '../family-kinds.ts'
import type { Patient } from '../harness/care/patients.ts'
import { arbitraryMeasurement, arbitraryValues } from '../harness/care/samples/arbitrary-measurements.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { service } from '../harness/service/service.ts'
import { callFhir, issuesIn, type Json, readFhir } from './fhir-client.ts'

const mapped = CLASS_NAMES.filter((name) => isMapped(classKindOf(name).fhir) && !classKindOf(name).readOnly)

const kindOf = (name: ClassName) => classKindOf(name) as MappedKind

/** The rules of R4 for dates that our records may break: con-4, per-1, and the largest offset. */
function assertValidDates({ clinicalStatus, abatementDateTime, period = {}, ...dates }: Json): void {
  if (abatementDateTime) assert.match(clinicalStatus.coding[0].code, /inactive|remission|resolved/)
  if (period.start && period.end) assert.ok(period.start <= period.end)
  for (const date of [dates.effectiveDateTime, dates.authored])
    if (date) assert.match(date, /(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)$/)
}

const asJson = (value: unknown): unknown => parseFhirJson(formatFhirJson(value))

/** Digits with a zero at their end, of all numbers that have none as a number. */
const decimalsOf = (fields: MappedKind['fields'], fieldValues: Readonly<Record<string, unknown>>): object => {
  const numbers = Object.entries(fieldValues).filter(
    ([name, value]) => fields[name]?.type === 'number' && !String(value).includes('e'),
  )
  const digits = numbers.map(([name, value]) => [name, `${value}${Number.isInteger(value) ? '.' : ''}0`])
  return 'decimals' in fields && digits.length > 0 ? { decimals: Object.fromEntries(digits) } : {}
}

describe('every kind', () => {
  it('says how it looks in FHIR, or why it does not', () => {
    assert.deepEqual(
      kinds.filter(({ fhir }) => fhir === undefined).map(({ name }: Json) => name),
      [],
    )
    assert.ok(mapped.length > 10)
  })
})

describe('a record of each kind in FHIR', () => {
  let patient: Patient
  let place: Place
  before(async () => {
    ;({ patient, place } = await newPlace())
  })

  for (const name of mapped) {
    const { fhir } = kindOf(name)

    it(`${name}: becomes a new version, and nothing else, when it is written back`, async () => {
      const { id } = (await createByPath(patient, name, place)) as { id: string }
      const stored = () => readStored(name, id)
      const before = await stored()
      const resource = await readFhir(patient, `${fhir.type}/${id}`)
      const answer = await callFhir(patient, 'PUT', `${fhir.type}/${id}`, resource)
      const updatedResource = assertStatus(answer)
      const { meta: _, status: __, lastModified: ___, ...elements } = updatedResource
      for (const [element, value] of Object.entries(elements))
        assert.deepEqual(value, resource[element], element)
      assert.deepEqual(await stored(), { ...before, version: 2 })
    })

    it(`${name}: keeps a second copy of any item of a list, or refuses it`, async () => {
      const { id } = (await createByPath(patient, name, place)) as { id: string }
      const resource = await readFhir(patient, `${fhir.type}/${id}`)
      for (const [element, items] of Object.entries(resource)) {
        if (!Array.isArray(items)) continue
        const sent = { ...resource, [element]: [...items, items[0]] }
        const answer = await callFhir(patient, 'PUT', `${fhir.type}/${id}`, sent)
        if (answer.status === 200) assert.equal(answer.body[element].length, sent[element].length, element)
        else assert.ok(String(issuesIn(answer)).includes(`${fhir.type}.${element}`), element)
      }
    })

    it(`${name}: any values survive both ways`, () => {
      const kind = kindOf(name)
      const values = isMeasurementKind(kind) ? arbitraryMeasurement(kind) : arbitraryValues(kind)
      fc.assert(
        fc.property(values, (body) => {
          const fieldValues = fromPathNames(kind.fields, body)
          const parents = { ehrId: 'e1', carePlanId: 'p1', goalId: 'g1' }
          const ownParents = Object.fromEntries(
            Object.entries(parents).filter(([id]) => id in kind.parentIds),
          )
          const record = {
            ...defaultsOf(kind.fields),
            ...fieldValues,
            ...decimalsOf(kind.fields, fieldValues),
            ...ownParents,
            ...kind.rules.derived?.(fieldValues),
          }
          const meta = {
            id: 'r1',
            version: 1,
            createdAt: '2026-03-01T00:00:00.000Z',
            updatedAt: '2026-03-01T00:00:00.000Z',
          }
          const resource = asJson(renderRecord(kind.fhir, { ...record, ...meta })) as Json
          assertValidDates(resource)
          assert.deepEqual(asJson(mergeFields(kind, record, resource)), asJson(record))
        }),
        { numRuns: 100 },
      )
    })
  }

  /** The stored fields of a record, but for the time of its last change. */
  async function readStored(name: ClassName, id: string): Promise<Json> {
    const { _updated_at: _, ...stored } = (await service.db
      .collection(name)
      .findOne({ _id: id as never })) as Json
    return stored
  }
})
