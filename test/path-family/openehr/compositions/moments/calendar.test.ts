import assert from 'node:assert/strict'
import { createPatient, type Patient } from '../../../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../../../harness/openehr-samples.ts'
import { service } from '../../../../harness/service/service.ts'

const AFTER_THE_CALENDAR_MS = Date.parse('+010000-01-01T12:00:00Z')
const YEAR_0_MS = Date.parse('0000-06-01T00:00:00Z')

describe('the times of compositions', () => {
  let patient: Patient
  let template: string
  before(async () => {
    ;[patient, template] = await Promise.all([createPatient(), getStoredTemplate()])
  })

  const pathOf = (more = '') => `/med/ehr/${patient.ehrId}/composition${more}`
  const add = (startTime: string) => {
    const composition = createPressureComposition(template, 120)
    composition.context.start_time = { _type: 'DV_DATE_TIME', value: startTime }
    return patient.call('POST', pathOf('/json'), composition)
  }

  it('are in the years 1 to 9999 of UTC, as all other times', async () => {
    for (const time of [
      '9999-12-31T23:59:59-12:00',
      '9999-12-31T24:00:00Z',
      '0001-01-01T00:00:00+14:00',
      '0000-06-01T00:00:00Z',
      '0000',
      '2026-03-01T24:01:00Z',
    ])
      assert.deepEqual(
        assertProblemPlaces(await add(time), 400, 'invalid-input'),
        ['body.context.start_time.value'],
        time,
      )
  })

  it('may be at the edges of the calendar, and at the end of a day', async () => {
    const times = ['9999-12-31T23:59:59.999Z', '2026-03-01T24:00:00Z', '0001-01-01T00:00:00Z']
    for (const time of times) assertStatus(await add(time), 201)
    const { items } = assertStatus(await patient.call('GET', pathOf()))
    assert.deepEqual(
      items.slice(0, 3).map(({ start }: { start: string }) => start),
      ['9999-12-31T23:59:59.999Z', '2026-03-02T00:00:00.000Z', '0001-01-01T00:00:00.000Z'],
    )
  })

  it('are left out of lists if an earlier version of the service stored them outside of the calendar', async () => {
    const { compositionId } = assertStatus(await add('2026-03-01T08:30:00Z'), 201)
    const compositions = service.db.collection<{ _id: string }>('openehr.compositions')
    for (const start of [AFTER_THE_CALENDAR_MS, YEAR_0_MS]) {
      await compositions.updateOne({ _id: compositionId }, { $set: { start } })
      const { items } = assertStatus(await patient.call('GET', pathOf()))
      const measurement = items.find((one: { compositionId: string }) => one.compositionId === compositionId)
      assert.equal(measurement.start, null)
      assertStatus(await patient.call('GET', `/fhir/R4/DocumentReference?patient=${patient.ehrId}`))
    }
  })
})
