import assert from 'node:assert/strict'
import { toRestEhrId } from '../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import { contributionOf, versionOf } from '../conformance/openehr-rest/fixture.ts'
import { readFhir } from '../fhir/fhir-client.ts'
import { createExamplesOfTypes } from '../fhir/table/examples-of-types.ts'
import { type AccessFixture, createAccessFixture, type Ids } from '../harness/care/access-fixture.ts'
import { callFunction, createClassClient, parseDate } from '../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { request } from '../harness/service/service.ts'
import { bySize } from '../harness/test-size.ts'

/** JavaScript fails to make a text of the first one. */
const ODD_VALUES: readonly unknown[] = [{ toString: 1 }, { x: 1 }, [null], 5, null]

/** The value with an odd one in place of a text, a number, an object or a list: one place at a time. */
function* withOddValues(value: unknown): Generator<unknown> {
  yield* ODD_VALUES
  if (Array.isArray(value))
    for (const [i, one] of value.entries())
      for (const changed of withOddValues(one)) yield value.with(i, changed)
  else if (typeof value === 'object' && value !== null)
    for (const [name, one] of Object.entries(value))
      for (const changed of withOddValues(one)) yield { ...value, [name]: changed }
}

/** Those that a body can be. */
const oddBodies = (value: object) =>
  [...withOddValues(value)].filter(
    (one): one is Record<string, unknown> => typeof one === 'object' && one !== null && !Array.isArray(one),
  )

describe('attack: values of another type', function suite() {
  this.timeout(bySize(120_000, 600_000))
  let cast: AccessFixture
  let ids: Ids
  const faults: string[] = []
  before(async () => {
    cast = await createAccessFixture()
    ids = await cast.createRecords()
  })
  const assertNoFaults = () => assert.deepEqual(faults.splice(0), [])

  async function send(method: string, path: string, body: unknown, type = 'application/json'): Promise<void> {
    const text = JSON.stringify(body)
    const { status, body: answer } = await cast.patient.call(method, path, Buffer.from(text), {
      'content-type': type,
    })
    // Also in the entries of a bundle.
    if (status >= 500 || /"status":"5/.test(JSON.stringify(answer))) faults.push(`${method} ${path}: ${text}`)
  }

  it('cause no fault in resources of FHIR', async () => {
    for (const { type, id, create } of await createExamplesOfTypes(cast.patient, ids)) {
      if (!create) continue
      const { id: _, meta, ...resource } = await readFhir(cast.patient, `${type.type}/${id}`)
      for (const changed of withOddValues({ ...resource, meta: { tag: [{ code: 'x' }], ...meta } }))
        await send('POST', `/fhir/R4/${type.type}`, changed, 'application/fhir+json')
    }
    assertNoFaults()
  })

  it('cause no fault in bundles and patches of FHIR', async () => {
    const bundle = {
      resourceType: 'Bundle',
      type: 'batch',
      entry: [
        { fullUrl: 'urn:uuid:1', request: { method: 'GET', url: 'Patient', ifNoneMatch: 'x' }, resource: {} },
      ],
    }
    for (const changed of withOddValues(bundle))
      await send('POST', '/fhir/R4', changed, 'application/fhir+json')
    const plan = `CarePlan/${ids.careplanId}`
    const patches = ['status', 'title', 'subject', 'period'].flatMap((name) => [
      ...withOddValues([{ op: 'add', path: `/${name}`, from: `/${name}`, value: { text: 'x' } }]),
      [{ op: 'add', path: `/${name}/toString`, value: 1 }],
    ])
    for (const patch of patches) {
      await send('PATCH', `/fhir/R4/${plan}`, patch, 'application/json-patch+json')
      const data = Buffer.from(JSON.stringify(patch)).toString('base64')
      const resource = { resourceType: 'Binary', contentType: 'application/json-patch+json', data }
      const entry = [{ request: { method: 'PATCH', url: plan }, resource }]
      await send('POST', '/fhir/R4', { ...bundle, entry }, 'application/fhir+json')
    }
    const parameters = { resourceType: 'Parameters', parameter: [{ name: 'x', valueString: 'x' }] }
    for (const changed of withOddValues(parameters))
      await send('POST', '/fhir/R4/Observation/$lastn', changed, 'application/fhir+json')
    assertNoFaults()
  })

  it('cause no fault in documents of openEHR', async () => {
    const composition = createPressureComposition(await getStoredTemplate(), 120)
    const ehr = `/openehr/v1/ehr/${toRestEhrId(cast.patient.ehrId)}`
    for (const changed of withOddValues(composition)) await send('POST', `${ehr}/composition`, changed)
    for (const changed of withOddValues(contributionOf(versionOf(composition))))
      await send('POST', `${ehr}/contribution`, changed)
    const query = {
      q: 'SELECT e FROM EHR e WHERE e/ehr_id/value = $x',
      query_parameters: { x: 'y' },
      offset: 0,
    }
    for (const changed of withOddValues(query)) await send('POST', '/openehr/v1/query/aql', changed)
    assertNoFaults()
  })

  it('cause no fault in simplified compositions', async () => {
    const templateId = await getStoredTemplate()
    const example = `/med/knowledge/template/${templateId}/example?format=`
    const path = `/med/ehr/${cast.patient.ehrId}/composition/json?templateId=${templateId}`
    for (const format of ['flat', 'structured'])
      for (const changed of withOddValues(assertStatus(await cast.patient.call('GET', example + format))))
        await send('POST', path, changed, `application/openehr.wt.${format}+json`)
    assertNoFaults()
  })

  it('cause no fault in objects and queries of the class family', async () => {
    const client = createClassClient(cast.patient)
    const { ehrId } = cast.patient
    const { careplanId: carePlanId } = ids
    const note = ({ status }: { status: number }, input: unknown) => {
      if (status >= 500) faults.push(JSON.stringify(input))
    }
    const timestamp = parseDate('2026-03-01T08:30:00.000Z')
    const weight = { ehrId, carePlanId, timestamp, weight: 70, weightUnit: 'kg', ACL: { x: { read: true } } }
    for (const changed of oddBodies(weight)) note(await client.post('BodyWeight', changed), changed)
    const query = {
      where: { weight: { $gt: 1, $in: [1] }, ehrId: { $inQuery: { className: 'Ehr', where: { _id: 'x' } } } },
      order: ['weight'],
      keys: ['weight'],
      include: ['ehrId'],
      excludeKeys: ['weight'],
      limit: 1,
      skip: 1,
    }
    for (const changed of oddBodies(query))
      note(
        await request()
          .post('/1/classes/BodyWeight')
          .set(cast.patient.headers)
          .send({ ...changed, _method: 'GET' }),
        changed,
      )
    for (const name of ['calculateBmi', 'handleAlert'])
      for (const changed of oddBodies({
        weight: 70,
        height: 1.7,
        eventId: 'x',
        action: 'TAKE',
        note: 'x',
      }))
        note(await callFunction(cast.patient, name, changed), changed)
    assertNoFaults()
  })

  it('cause no fault in live queries', async () => {
    const socket = await openRawSocket()
    await socket.answer(createConnectMessage({ sessionToken: cast.patient.sessionToken }))
    const query = { className: 'BodyWeight', where: { weight: 1 }, keys: ['weight'], watch: ['weight'] }
    let requestId = 0
    for (const changed of withOddValues(query)) {
      const { code } = await socket.answer({ op: 'subscribe', requestId: requestId++, query: changed })
      if (code === 1) faults.push(JSON.stringify(changed))
    }
    socket.socket.close()
    assertNoFaults()
  })
})
