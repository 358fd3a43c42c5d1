import assert from 'node:assert/strict'
import { createPatient, createPlan, createWeight, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { callFhir, type Json, readFhir } from '../fhir-client.ts'
import { subscriptionOf } from '../subscriptions/subscription-requests.ts'

const localPath = (url: string): string => url.replace(/^.*\/fhir\/R4\//, '')

const linkOf = ({ link }: Json, relation: string): string | undefined => {
  const url = link.find((one: Json) => one.relation === relation)?.url
  return url === undefined ? undefined : localPath(url)
}

describe('an address in a response of FHIR', () => {
  let patient: Patient
  let weightId: string
  before(async () => {
    patient = await createPatient()
    const planId = await createPlan(patient)
    for (const weight of [70, 71, 72]) weightId = await createWeight(patient, planId, weight)
  })

  it('leads to the same page again, and to the first one', async () => {
    for (const path of [
      `Observation?patient=${patient.ehrId}&_count=1`,
      'Observation/_history?_count=1',
      `Patient/${patient.ehrId}/$everything?_count=1`,
    ]) {
      const first = await readFhir(patient, path)
      const second = await readFhir(patient, String(linkOf(first, 'next')))
      assert.notDeepEqual(second.entry, first.entry)
      assert.deepEqual((await readFhir(patient, String(linkOf(second, 'self')))).entry, second.entry, path)
      assert.deepEqual((await readFhir(patient, String(linkOf(second, 'first')))).entry, first.entry, path)
      assert.equal(linkOf(first, 'self'), linkOf(first, 'first'))
    }
  })

  it('leads to what a write stored, also where former versions cannot be read', async () => {
    const subscription = subscriptionOf(`Observation?patient=${patient.ehrId}`)
    const created = await callFhir(patient, 'POST', 'Subscription', subscription)
    const { id } = assertStatus(created, 201)
    const changed = { ...assertStatus(await callFhir(patient, 'GET', `Subscription/${id}`)), reason: 'Ward' }
    const updated = await callFhir(patient, 'PUT', `Subscription/${id}`, changed)
    assertStatus(updated)
    for (const address of [created.headers.get('location'), updated.headers.get('content-location')])
      assert.equal((await readFhir(patient, localPath(String(address)))).id, id)
  })

  it('is in the response to an entry that writes, and not to one that reads', async () => {
    const weight = await readFhir(patient, `Observation/${weightId}`)
    const entry = [
      { request: { method: 'GET', url: `Patient/${patient.ehrId}` } },
      { resource: weight, request: { method: 'PUT', url: `Observation/${weightId}` } },
    ]
    const bundle = { resourceType: 'Bundle', type: 'batch', entry }
    const answers = assertStatus(await callFhir(patient, 'POST', '', bundle)).entry
    assert.equal(answers[0].response.location, undefined)
    assert.ok(answers[0].response.etag)
    assert.equal((await readFhir(patient, localPath(answers[1].response.location))).id, weightId)
  })

  it('is part of every entry of a search', async () => {
    const { entry } = await readFhir(patient, `Observation?patient=${patient.ehrId}&surprise=1`)
    for (const { fullUrl, resource } of entry) assert.ok(fullUrl.endsWith(resource.id) && resource.id)
    assert.equal(entry.at(-1).search.mode, 'outcome')
  })
})
