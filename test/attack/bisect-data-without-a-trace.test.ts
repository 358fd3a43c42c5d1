import assert from 'node:assert/strict'
import { tracesOf as tracesOfPerson } from '../harness/care/audit-traces.ts'
import {
  addParticipant,
  createEhrAbout,
  createPatient,
  createPlan,
  type Patient,
} from '../harness/care/patients.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { createPerson, createRoleHolder, type Person } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'

const PRESSURE = 'OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'
const SYSTOLIC = 'o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude'
const pressures = (columns: string, least: number, more = '') =>
  `SELECT ${columns} FROM EHR e CONTAINS ${PRESSURE} WHERE ${SYSTOLIC} >= ${least} ${more}`

const timestamp = '2026-03-01T08:30:00Z'

async function addPressure(patient: Patient, systolic: number): Promise<string> {
  const carePlanId = await createPlan(patient)
  const units = { systolicUnit: 'mm[Hg]', diastolicUnit: 'mm[Hg]' }
  const body = { carePlanId, timestamp, systolic, diastolic: 80, ...units }
  assertStatus(await patient.call('POST', 'procedure/bloodpressure', body), 201)
  return carePlanId
}

describe('attack: find out values by queries that leave no trace', () => {
  let patient: Patient
  let quiet: Patient
  let nurse: Patient
  let query: string

  before(async () => {
    ;[patient, quiet, nurse] = await Promise.all([createPatient(), createPatient(), createPatient()])
    const plan = await addPressure(patient, 142)
    const steps = { carePlanId: plan, dataType: 'steps', value: 8214, timestamp }
    const event = { carePlanId: plan, type: 'visit', title: 'x', start: timestamp }
    assertStatus(await patient.call('POST', `/data/${patient.mvUid}/measurement`, [steps]))
    assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 201)
    await addParticipant(plan, nurse, 'read')
    await addParticipant(await createPlan(quiet), nurse, 'read')
    query = `/med/query/pressures.${patient.ehrId}`
    const q = pressures('COUNT(*)', 0).replace('>= 0', '>= $least')
    assertStatus(await (await createRoleHolder('modeller')).call('PUT', query, { q }), 201)
  })

  const tracesOf = (work: () => PromiseLike<unknown>) => tracesOfPerson(nurse, work)

  const read = async (path: string) => assertStatus(await nurse.call('GET', path))
  const aql = async (q: string, more: object = {}, path = '/med/aql', accept = 'application/json') =>
    assertStatus(await nurse.call('POST', path, { q, ...more }, { accept }))
  const list = (className: string, where: object, more: object = {}) =>
    request()
      .get(`/1/classes/${className}`)
      .set(nurse.headers)
      .query({ where: JSON.stringify(where), ...more })
      .expect(200)

  const since = (isMatch: boolean) => `from=${isMatch ? '2026-01-01' : '2026-06-01'}T00:00:00Z`
  const least = (isMatch: boolean) => (isMatch ? 140 : 143)
  const systolic = (isMatch: boolean) => ({ systolic: { $gte: least(isMatch) } })
  const ownEhrPath = () => `/ehr/${patient.ehrId}`

  /** Queries that name the patient's EHR. */
  const ofOneEhr: Record<string, (isMatch: boolean) => PromiseLike<unknown>> = {
    'a list of the path family': (is) => read(`${ownEhrPath()}/procedure/bloodpressure?${since(is)}`),
    'its number': (is) => read(`${ownEhrPath()}/procedure/bloodpressure?count=true&${since(is)}`),
    'data points': (is) => read(`${ownEhrPath()}/procedure/bloodpressure/omh?${since(is)}`),
    'care plans by name': (is) =>
      read(`${ownEhrPath()}/careplan?name=${is ? 'Lower%20blood%20pressure' : 'x'}`),
    events: (is) => read(`/med/${patient.ehrId}/event?${since(is)}`),
    'a timeline': (is) => read(`${ownEhrPath()}/summary/timeline?kinds=bloodpressure&${since(is)}`),
    'a graph': (is) => read(`${ownEhrPath()}/summary/medgraph?measures=bloodpressure&${since(is)}`),
    "a user's data": (is) => read(`/data/${patient.mvUid}/measurement?${since(is)}`),
    'aggregates of them': (is) =>
      read(`/data/${patient.mvUid}/measurement?dataType=steps&aggregate=day&timeZone=UTC&${since(is)}`),
    'a class query of an EHR': (is) => list('BloodPressure', { ehrId: patient.ehrId, ...systolic(is) }),
    'AQL of an EHR': (is) => aql(pressures(SYSTOLIC, least(is), `AND e/ehr_id/value = '${patient.ehrId}'`)),
  }

  /** Queries of all EHRs that the nurse may read. */
  const ofAllEhrs: Record<string, (isMatch: boolean) => PromiseLike<unknown>> = {
    'a class query': (is) => list('BloodPressure', systolic(is)),
    'its number': (is) => list('BloodPressure', systolic(is), { limit: 0, count: 1 }),
    'distinct values': (is) => list('BloodPressure', systolic(is), { distinct: 'systolic' }),
    'a live query': async (is) => {
      const { answer, socket } = await openRawSocket()
      await answer(createConnectMessage({ sessionToken: nurse.sessionToken }))
      const liveQuery = { className: 'BloodPressure', where: systolic(is) }
      const { op } = await answer({ op: 'subscribe', requestId: 1, query: liveQuery })
      assert.equal(op, 'subscribed')
      socket.close()
    },
    'AQL rows': (is) => aql(pressures(SYSTOLIC, least(is))),
    'AQL as CSV': (is) => aql(pressures(SYSTOLIC, least(is)), {}, '/med/aql', 'text/csv'),
    'AQL by a link': (is) => read(`/med/aql?${new URLSearchParams({ q: pressures(SYSTOLIC, least(is)) })}`),
    'a COUNT': (is) => aql(pressures('COUNT(*)', least(is))),
    'a MAX': (is) => aql(pressures(`MAX(${SYSTOLIC})`, least(is))),
    'LIMIT 0': (is) => aql(pressures(SYSTOLIC, least(is), 'LIMIT 0')),
    'an offset beyond the end': (is) => aql(pressures(SYSTOLIC, least(is)), { offset: 1000 }),
    'NOT CONTAINS': (is) =>
      aql(`SELECT e/ehr_id/value FROM EHR e NOT CONTAINS ${PRESSURE} WHERE ${is} = true`),
    explain: (is) => aql(pressures(SYSTOLIC, least(is)), {}, '/med/aql/explain'),
    'a stored query': (is) => read(`${query}/run?query_parameters=${JSON.stringify({ least: least(is) })}`),
  }

  for (const [name, ask] of Object.entries(ofOneEhr))
    it(`leaves the same entry with and without a match: ${name}`, async () => {
      const match = await tracesOf(() => ask(true))
      const none = await tracesOf(() => ask(false))
      assert.deepEqual([match, none], [[`${patient.ehrId} query done`], match])
    })

  for (const [name, ask] of Object.entries(ofAllEhrs))
    it(`leaves the same entry in each EHR with and without a match: ${name}`, async () => {
      const match = await tracesOf(() => ask(true))
      const none = await tracesOf(() => ask(false))
      const expectedTraces = [patient, quiet, nurse].map(({ ehrId }) => `${ehrId} query done`).sort()
      assert.deepEqual([match, none], [expectedTraces, match])
    })

  it("leaves an entry in each EHR of a user's data", async () => {
    const owner = await createPatient()
    const second = assertStatus(await owner.call('POST', '/ehr', {}), 201).id
    const plan = { name: 'Second' }
    const { id } = assertStatus(await owner.call('POST', `/ehr/${second}/careplan`, plan), 201)
    for (const one of [await createPlan(owner), id]) await addParticipant(one, nurse, 'read')
    const entries = [owner.ehrId, second].map((ehrId) => `${ehrId} query done`).sort()
    for (const query of ['', '?dataType=steps&aggregate=day'])
      assert.deepEqual(await tracesOf(() => read(`/data/${owner.mvUid}/measurement${query}`)), entries)
  })

  it('leaves an entry without an EHR when the caller may read none', async () => {
    const nobody = await createPatient()
    assertStatus(await nobody.call('DELETE', `/med/ehr/${nobody.ehrId}`), 204)
    const ask = () => nobody.call('POST', '/med/aql', { q: pressures('COUNT(*)', 0) })
    assert.deepEqual(await tracesOfPerson(nobody, ask), ['null query done'])
  })

  it('leaves a refused entry for an EHR that the caller may not read', async () => {
    const other = await createPatient()
    const pressureQuery = pressures(SYSTOLIC, 0, `AND e/ehr_id/value = '${other.ehrId}'`)
    for (const path of ['/med/aql', '/med/aql/explain'])
      assert.deepEqual(await tracesOf(() => aql(pressureQuery, {}, path)), [`${other.ehrId} query denied`])
  })
})

describe('attack: data that queries of all EHRs must not count', () => {
  let analyst: Person
  let victim: Patient
  before(async () => {
    ;[analyst, victim] = await Promise.all([createRoleHolder('analyst'), createPatient()])
  })

  const ask = async (q: string, path = '') =>
    assertStatus(await analyst.call('POST', `/med/aql${path}`, { q }))

  /** Everything that an analyst can count: rows, an index, the numbers of explain. */
  async function numbers(template: string): Promise<unknown> {
    const composed = 'OBSERVATION o[openEHR-EHR-OBSERVATION.pressure_of_tests.v1]'
    const queries = [pressures('COUNT(*)', 200), `SELECT COUNT(*) FROM EHR e CONTAINS ${composed}`]
    const subject = `SELECT COUNT(*) FROM EHR e WHERE e/ehr_status/subject/external_ref/id/value = '${victim.mvUid}'`
    const explanations = [...queries, subject, `SELECT COUNT(*) FROM EHR e CONTAINS ${PRESSURE}`].map(
      async (q) => {
        const { candidates, measurements } = await ask(q, '/explain')
        return [(await ask(q)).rows, candidates, measurements]
      },
    )
    return [template, await Promise.all(explanations)]
  }

  it('leaves out EHRs that are pending, deleted or not queryable', async () => {
    const template = await getStoredTemplate()
    const planter = await createPerson()
    const before = await numbers(template)
    const status = { ...assertStatus(await victim.call('GET', `/med/ehr/${victim.ehrId}/status`)) }
    const ends: ((ehr: Patient) => Promise<unknown>)[] = [
      async () => {},
      async (ehr) => assertStatus(await ehr.call('DELETE', `/med/ehr/${ehr.ehrId}`), 204),
      async (ehr) => {
        const { uid: _, subject: __, ...rest } = status
        const hidden = { ...rest, subject: { _type: 'PARTY_SELF' }, is_queryable: false }
        assertStatus(await ehr.call('PUT', `/med/ehr/${ehr.ehrId}/status`, hidden, { 'if-match': '"1"' }))
      },
    ]
    for (const end of ends) {
      const ehr = await createEhrAbout(victim, planter)
      await addPressure(ehr, 210)
      const path = `/med/ehr/${ehr.ehrId}/composition/json`
      assertStatus(await ehr.call('POST', path, createPressureComposition(template, 210)), 201)
      await end(ehr)
    }
    assert.deepEqual(await numbers(template), before)
  })

  it('counts nothing of an EHR whose status names somebody else', async () => {
    const planter = await createPatient()
    await addPressure(planter, 211)
    const path = `/med/ehr/${planter.ehrId}/status`
    const { uid: _, ...own } = assertStatus(await planter.call('GET', path))
    const forged = structuredClone(own)
    forged.subject.external_ref.id.value = victim.mvUid
    const refusal = await planter.call('PUT', path, forged, { 'if-match': '"1"' })
    assert.equal(refusal.status, 422)
    assert.deepEqual(refusal.body.errors[0].path, 'body.subject.external_ref.id.value')
    const another = { subjectId: planter.mvUid, status: forged }
    const created = await planter.call('POST', '/med/ehr', another)
    assert.equal(created.status, 422)
    assert.deepEqual(created.body.errors[0].path, 'body.status.subject.external_ref.id.value')
    // As stored before such a status was refused.
    assertStatus(await planter.call('PUT', path, own, { 'if-match': '"1"' }))
    await service.db
      .collection('openehr.ehr_statuses')
      .updateOne({ ehrId: planter.ehrId }, { $set: { json: JSON.stringify(forged) } })
    assert.equal(assertStatus(await planter.call('GET', path)).subject.external_ref.id.value, planter.mvUid)
    const countAbout = (who: string) =>
      ask(pressures('COUNT(*)', 211, `AND e/ehr_status/subject/external_ref/id/value = '${who}'`))
    assert.deepEqual((await countAbout(victim.mvUid)).rows, [[0]])
    assert.deepEqual((await countAbout(planter.mvUid)).rows, [[1]])
  })
})
