import assert from 'node:assert/strict'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { createPatient, type Patient } from '../harness/care/patients.ts'
import { request } from '../harness/service/service.ts'
import { callFhir, type Json } from './fhir-client.ts'

/** The method and path below a type of each interaction. */
const INTERACTIONS: Readonly<Record<string, string>> = {
  read: 'get /{id}',
  vread: 'get /{id}/_history/{versionId}',
  'history-instance': 'get /{id}/_history',
  'history-type': 'get /_history',
  'search-type': 'get ',
  create: 'post ',
  update: 'put /{id}',
  patch: 'patch /{id}',
  delete: 'delete /{id}',
}

/** Operations of a type that its interactions imply. */
const IMPLIED = ['post /_search', 'put ', 'patch ', 'delete ']

describe('the capabilities of the FHIR API', () => {
  let resources: Json[]
  let patient: Patient
  before(async () => {
    const { body } = await request().get('/fhir/R4/metadata')
    resources = body.rest[0].resource
    patient = await createPatient()
  })

  /** Some types are searched within a patient only, and changes within a resource. */
  const ofPatient = (type: string) =>
    type === 'Provenance'
      ? 'target=CarePlan/unknown123&'
      : resources.find((one) => one.type === type)?.searchParam?.some(({ name }: Json) => name === 'patient')
        ? `patient=Patient/${patient.ehrId}&`
        : ''

  it('are those of the operations, both ways', () => {
    const stated = resources.flatMap(({ type, interaction = [], operation = [] }: Json) => [
      ...interaction.map(({ code }: Json) => `${type} ${INTERACTIONS[code]}`),
      ...operation.map(({ name }: Json) => `${type} $${name}`),
    ])
    const offeredInteractions = operationTable.flatMap(({ method, path }) => {
      const [, type, rest = ''] = /^\/fhir\/R4\/([A-Z]\w+)(\/.*)?$/.exec(path) ?? []
      const name = /\/(\$\w+)$/.exec(rest)?.[1]
      if (type === undefined || IMPLIED.includes(`${method} ${rest}`)) return []
      return [name === undefined ? `${type} ${method} ${rest}` : `${type} ${name}`]
    })
    assert.deepEqual(stated.sort(), [...new Set(offeredInteractions)].sort())
  })

  it('include no parameter that a search refuses or ignores', async () => {
    const values: Readonly<Record<string, string>> = {
      token: 'final',
      date: '2026-03-01',
      string: 'Anna',
      quantity: '5',
      reference: 'CarePlan/unknown123',
      composite: '8480-6$5',
    }
    for (const { type, searchParam = [] } of resources)
      for (const { name, type: valueType } of searchParam) {
        const value =
          name === 'patient' || name === 'subject' ? `Patient/${patient.ehrId}` : values[valueType]
        const query = `${['patient', 'target'].includes(name) ? '' : ofPatient(type)}${name}=${value}&_count=1`
        const answer = await callFhir(patient, 'GET', `${type}?${query}`, undefined, {
          prefer: 'handling=strict',
        })
        assert.equal(answer.status, 200, `${type} ${name}: ${JSON.stringify(answer.body)}`)
      }
  })

  it('name no parameter that a search would ignore: an unknown one is reported, or refused to a strict client', async () => {
    for (const { type, interactions } of resourceTypes) {
      if (!interactions.includes('search-type')) continue
      const path = `${type}?${ofPatient(type)}surprise=1`
      const lenient = await callFhir(patient, 'GET', path)
      assert.equal(lenient.body.entry.at(-1).search.mode, 'outcome')
      assert.ok(!lenient.body.link[0].url.includes('surprise'))
      const strict = await callFhir(patient, 'GET', path, undefined, { prefer: 'handling=strict' })
      assert.equal(strict.status, 400)
    }
  })

  it('are refused as OperationOutcome where they end', async () => {
    for (const [method, path, status] of [
      ['GET', 'Encounter/1', 404],
      ['PUT', `Patient/${patient.ehrId}`, 405],
      ['GET', 'Observation?date=yesterday', 400],
      ['GET', 'Observation?_sort=code', 400],
      ['GET', 'Observation?_cursor=abc', 400],
    ] as const) {
      const answer = await callFhir(patient, method, path)
      assert.equal(answer.status, status, path)
      assert.equal(answer.body.resourceType, 'OperationOutcome', path)
    }
    const unknown = await request().get('/fhir/R4/Patient')
    assert.equal(unknown.status, 401)
    assert.equal(JSON.parse(unknown.text).resourceType, 'OperationOutcome')
  })
})
