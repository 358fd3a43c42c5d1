import assert from 'node:assert/strict'
import { resourceTypes } from '../../fhir/resource-types.ts'
import type { Interaction, ResourceType } from '../../fhir/sources/resource-source.ts'
import { isMapped } from '../../records/fhir/mapping.ts'
import { CLASS_NAMES, classKindOf } from '../../records/kinds.ts'
import { createByPath, newPlace, type Place } from '../family-kinds.ts'
import { idsOf, readFiles, startExport, waitForExport } from '../fhir/export/bulk-export.ts'
import { bloodPressureOf, callFhir, type Json } from '../fhir/fhir-client.ts'
import {
  createEhrAbout,
  createGoal,
  createPlan,
  createWeight,
  type Patient,
} from '../harness/care/patients.ts'
import { type Answer, assertStatus } from '../harness/clients/path-client.ts'
import { createPerson } from '../harness/people/people.ts'
import { type AppGrant, authorizeApp, createSmartApp } from '../harness/people/smart-apps.ts'

const WRITABLE = CLASS_NAMES.filter((name) => isMapped(classKindOf(name).fhir) && !classKindOf(name).readOnly)

/** The caller of the FHIR API: a person, or an app with a token of that person. */
type By = Pick<AppGrant, 'call'>

const fhir = (by: By, method: string, path: string, body?: unknown): Promise<Answer> =>
  by.call(
    method,
    `/fhir/R4/${path}`,
    body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    body === undefined
      ? {}
      : { 'content-type': method === 'PATCH' ? 'application/json-patch+json' : 'application/fhir+json' },
  )

const resourcesIn = ({ entry = [] }: Json): Json[] => entry.map(({ resource }: Json) => resource)

const isOfPatient = ({ type, parameters }: ResourceType) => type === 'Patient' || 'patient' in parameters

const findOf = async (by: By, { type }: ResourceType, ehrId: string): Promise<Json[]> => {
  const query = type === 'Patient' ? `_id=${ehrId}` : `patient=${ehrId}`
  return resourcesIn(assertStatus(await fhir(by, 'GET', `${type}?${query}`)))
}

/** A resource as another system would create it. */
const withoutId = (resource: Json): Json =>
  Object.fromEntries(Object.entries(resource).filter(([name]) => !OWN_ELEMENTS.includes(name)))

/** Elements that the service sets. */
const OWN_ELEMENTS = ['id', 'meta', 'created', 'authoredOn', 'hasMember', 'careTeam']

/** The requests of an app for a resource of another patient: one for each interaction, with its refusal. */
const TRIES: Readonly<Record<Interaction, (other: Json) => [method: string, path: string, body?: object]>> = {
  read: ({ resourceType, id }) => ['GET', `${resourceType}/${id}`],
  vread: ({ resourceType, id, meta }) => ['GET', `${resourceType}/${id}/_history/${meta.versionId}`],
  'history-instance': ({ resourceType, id }) => ['GET', `${resourceType}/${id}/_history`],
  'history-type': ({ resourceType }) => ['GET', `${resourceType}/_history?_count=200`],
  'search-type': ({ resourceType, id }) => ['GET', `${resourceType}?_id=${id}`],
  create: (other) => ['POST', other.resourceType, withoutId(other)],
  update: (other) => ['PUT', `${other.resourceType}/${other.id}`, other],
  patch: ({ resourceType, id, status }) => [
    'PATCH',
    `${resourceType}/${id}`,
    [{ op: 'test', path: '/status', value: status }],
  ],
  delete: ({ resourceType, id }) => ['DELETE', `${resourceType}/${id}`],
}

const LETTERS: Readonly<Record<Interaction, string>> = {
  read: 'r',
  vread: 'r',
  'history-instance': 'r',
  'history-type': 's',
  'search-type': 's',
  create: 'c',
  update: 'u',
  patch: 'u',
  delete: 'd',
}

const entryOf = ([method, url, resource]: [string, string, object?]) => ({
  request: { method, url },
  ...(resource && {
    resource:
      method === 'PATCH'
        ? { resourceType: 'Binary', data: Buffer.from(JSON.stringify(resource)).toString('base64') }
        : resource,
  }),
})

describe('an app', () => {
  let patient: Patient
  let other: Patient
  let places: { own: Place; other: Place }
  const since = new Date().toISOString()
  before(async () => {
    const ownPlace = await newPlace()
    patient = ownPlace.patient
    other = await createEhrAbout(await createPerson(), patient)
    const carePlanId = await createPlan(other)
    const goalId = await createGoal(other, carePlanId)
    places = { own: ownPlace.place, other: { ehrId: other.ehrId, carePlanId, goalId } }
    for (const [who, place] of [
      [patient, places.own],
      [other, places.other],
    ] as const) {
      for (const name of WRITABLE) await createByPath(who, name, place)
      await sendMessage(who, place)
    }
  })

  const sendMessage = async (who: Patient, { carePlanId }: Place) => {
    const topic = { title: 'Tablets', text: 'With meals?' }
    assertStatus(await who.call('POST', `/chat/careplan/${carePlanId}`, topic), 201)
  }

  const inPlan = () => ({ basedOn: [{ reference: `CarePlan/${places.own.carePlanId}` }] })

  const authorize = async (scopes: string[]): Promise<AppGrant> =>
    authorizeApp(patient, await createSmartApp(scopes), scopes.join(' '), patient.ehrId)

  describe('with scopes for a patient', () => {
    let app: AppGrant
    /** Resources of the other patient, which the person could read without the app. */
    const otherResources = new Map<string, Json>()
    before(async () => {
      app = await authorize(['launch/patient', 'patient/*.cruds'])
      for (const one of resourceTypes.filter(isOfPatient)) {
        // A client cannot create a resource that says that FHIR has no element for its value.
        const resource = (await findOf(patient, one, other.ehrId)).find((its) => !its.dataAbsentReason)
        if (resource) otherResources.set(one.type, resource)
      }
    })

    it('is tried with resources of the other patient', () => {
      assert.ok(otherResources.size >= 14, [...otherResources.keys()].join())
    })

    for (const one of resourceTypes.filter(isOfPatient)) {
      it(`finds ${one.plural} of that patient only: ${one.type}`, async () => {
        const ownIds = await findOf(app, one, patient.ehrId)
        // Each search adds entries to the audit.
        if (one.type === 'AuditEvent') assert.ok(ownIds.length > 0)
        else assert.deepEqual(ownIds, await findOf(patient, one, patient.ehrId))
        assert.deepEqual(await findOf(app, one, other.ehrId), [])
        // Some types are searched within a named patient only.
        const { status, body } = await fhir(app, 'GET', `${one.type}?_count=1000`)
        if (status !== 400)
          assert.ok(!JSON.stringify(assertStatus({ status, body } as Answer)).includes(other.ehrId))
      })

      for (const interaction of one.interactions)
        it(`is refused ${interaction} of another one: ${one.type}`, async function () {
          const resource = otherResources.get(one.type)
          if (!resource) return this.skip()
          const attempt = TRIES[interaction](resource)
          const before = await findOf(patient, one, other.ehrId)
          const requireRefused = (status: string, body: Json) => {
            if (interaction === 'history-type')
              return assert.ok(body.entry.length > 0 && !JSON.stringify(body).includes(other.ehrId))
            if (interaction === 'search-type' && status === '200')
              return assert.deepEqual(resourcesIn(body), [])
            // Some types are searched within what the client names.
            const isNamed = ['AuditEvent', 'Provenance'].includes(one.type)
            assert.match(status, isNamed ? /^40[04]$/ : /^404$/, JSON.stringify(body))
          }
          const alone = await fhir(app, ...attempt)
          requireRefused(String(alone.status), alone.body)
          if (!attempt[1].includes('_history') || interaction === 'vread')
            for (const type of ['batch', 'transaction']) {
              const bundle = { resourceType: 'Bundle', type, entry: [entryOf(attempt)] }
              const { status, body } = await fhir(app, 'POST', '', bundle)
              const [first] = status === 200 ? body.entry : [{ response: { status: String(status) } }]
              requireRefused(first.response.status, first.resource ?? body)
            }
          if (one.type !== 'AuditEvent')
            assert.deepEqual(await findOf(patient, one, other.ehrId), before, 'something was written')
        })
    }

    it('exports all of that patient, and nothing of another one', async () => {
      for (const who of [patient, other]) {
        const id = await createWeight(who, who === patient ? places.own.carePlanId : places.other.carePlanId)
        assertStatus(await callFhir(patient, 'DELETE', `Observation/${id}`), 204)
      }
      const path = await startExport(app, `Patient/$export?_since=${since}`)
      const files = await readFiles(app, (await waitForExport(app, path)).body)
      assert.equal(files.get('Bundle')?.length, 1)
      assert.equal(files.get('Patient')?.length, 1)
      for (const [type, lines] of files) {
        assert.ok(!JSON.stringify(lines).includes(other.ehrId), type)
        if (type === 'Bundle') continue
        assert.deepEqual(idsOf(lines), idsOf(await findOf(patient, typeOf(type), patient.ehrId)), type)
      }
      assert.equal((await callFhir(patient, 'GET', path)).status, 404)
    })

    it('finds changes, includes and everything of that patient only', async () => {
      for (const path of [
        '_history?_count=200',
        'Observation?_include=Observation:patient&_count=100',
        `Patient?_revinclude=Observation:patient`,
        `Patient/${patient.ehrId}/$everything`,
      ]) {
        const bundle = assertStatus(await fhir(app, 'GET', path))
        assert.ok(bundle.entry.length > 0 && !JSON.stringify(bundle).includes(other.ehrId), path)
      }
      assertStatus(await fhir(app, 'GET', `Patient/${other.ehrId}/$everything`), 404)
    })

    it('cannot move a resource of its patient to another one, nor refer to one', async () => {
      const { id } = assertStatus(
        await fhir(app, 'POST', 'Observation', bloodPressureOf(patient.ehrId, inPlan())),
        201,
      )
      const moved = { ...bloodPressureOf(other.ehrId), id }
      assert.match(String((await fhir(app, 'PUT', `Observation/${id}`, moved)).status), /^4/)
      const basedOn = [{ reference: `CarePlan/${places.other.carePlanId}` }]
      assertStatus(await fhir(app, 'POST', 'Observation', bloodPressureOf(patient.ehrId, { basedOn })), 404)
      assertStatus(await fhir(app, 'GET', `Patient/${other.ehrId}/$summary`), 404)
      assertStatus(await fhir(app, 'GET', `Patient/${patient.ehrId}/$summary`))
    })
  })

  describe('with one letter', () => {
    for (const [letters, allowed] of [
      ['r', ['read', 'vread', 'history-instance']],
      ['s', ['search-type', 'history-type']],
      ['c', ['create']],
      ['u', ['update', 'patch']],
      ['d', ['delete']],
    ] as const)
      it(`may do what it says: ${letters}`, async () => {
        const app = await authorize(['launch/patient', `patient/Condition.${letters}`])
        const [one] = await findOf(patient, typeOf('Condition'), patient.ehrId)
        const code = { text: `Illness ${letters}` }
        for (const interaction of typeOf('Condition').interactions) {
          const [method, path, body] = TRIES[interaction]({
            ...one,
            ...(interaction === 'create' && { code }),
          })
          const { status, body: answer } = await fhir(app, method, path, body)
          const isAllowed = (allowed as readonly string[]).includes(interaction)
          assert.equal(status !== 403, isAllowed, `${interaction} ${status} ${JSON.stringify(answer)}`)
          assert.equal(LETTERS[interaction] === letters, isAllowed)
        }
        await createByPath(patient, 'Diagnosis', places.own)
        assertStatus(await fhir(app, 'GET', `Observation?patient=${patient.ehrId}`), 403)
      })
  })

  it('includes what it may search: all of a wildcard, and nothing else that it names', async () => {
    const app = await authorize(['launch/patient', 'patient/Task.rs', 'patient/Goal.rs'])
    const findTypes = async (query: string) => {
      const bundle = assertStatus(await fhir(app, 'GET', query))
      return [...new Set(resourcesIn(bundle).map(({ resourceType }) => resourceType))].sort()
    }
    const tasks = `Task?patient=${patient.ehrId}`
    for (const include of ['*', 'Task:*', 'Task:focus'])
      assert.deepEqual(await findTypes(`${tasks}&_include=${include}`), ['Goal', 'Task'], include)
    assert.deepEqual(await findTypes(`Goal?patient=${patient.ehrId}&_revinclude=*`), ['Goal', 'Task'])
    for (const include of ['Task:patient', 'Task:based-on', 'Task:based-on:CarePlan'])
      assertStatus(await fhir(app, 'GET', `${tasks}&_include=${include}`), 403)
    const alone = await authorize(['launch/patient', 'patient/Task.rs'])
    assertStatus(await fhir(alone, 'GET', `${tasks}&_include=*`))
  })

  it('reads and writes with the scopes of SMART 1', async () => {
    const reader = await authorize(['launch/patient', 'patient/Observation.read'])
    assert.equal(reader.tokens.scope, 'launch/patient patient/Observation.read')
    assertStatus(await fhir(reader, 'GET', `Observation?patient=${patient.ehrId}`))
    assertStatus(await fhir(reader, 'POST', 'Observation', bloodPressureOf(patient.ehrId, inPlan())), 403)
    const writer = await authorize(['launch/patient', 'patient/Observation.write'])
    const day = { ...inPlan(), effectiveDateTime: '2024-05-01T08:00:00Z' }
    assertStatus(await fhir(writer, 'POST', 'Observation', bloodPressureOf(patient.ehrId, day)), 201)
    assertStatus(await fhir(writer, 'GET', `Observation?patient=${patient.ehrId}`), 403)
  })

  it('reaches all patients of a user with scopes for a user, and no others', async () => {
    const stranger = await newPlace()
    const app = await authorize(['user/Observation.rs'])
    for (const ehrId of [patient.ehrId, other.ehrId])
      assert.ok((await findOf(app, typeOf('Observation'), ehrId)).length > 0)
    await createByPath(stranger.patient, 'BloodPressure', stranger.place)
    assert.deepEqual(await findOf(app, typeOf('Observation'), stranger.place.ehrId), [])
    assertStatus(await fhir(app, 'GET', `Condition?patient=${patient.ehrId}`), 403)
  })

  it('reaches one category only with a scope for it', async () => {
    const app = await authorize(['launch/patient', 'patient/Observation.cruds?category=vital-signs'])
    const allResources = await findOf(patient, typeOf('Observation'), patient.ehrId)
    const isVital = ({ category = [] }: Json) => JSON.stringify(category).includes('vital-signs')
    const visible = await findOf(app, typeOf('Observation'), patient.ehrId)
    assert.deepEqual(
      visible.map(({ id }) => id),
      allResources.filter(isVital).map(({ id }) => id),
    )
    const hidden = allResources.find((one) => !isVital(one))
    assert.ok(hidden && visible.length > 0)
    for (const interaction of ['read', 'vread', 'history-instance', 'update', 'patch', 'delete'] as const) {
      const { status } = await fhir(app, ...TRIES[interaction](hidden))
      assert.equal(status, 404, interaction)
    }
    assertStatus(await fhir(app, 'POST', 'Observation', withoutId(hidden)), 403)
    const exported = await startExport(app, `Patient/$export?_since=2000-01-01T00:00:00Z`)
    const files = await readFiles(app, (await waitForExport(app, exported)).body)
    assert.deepEqual(idsOf(files.get('Observation')), idsOf(visible))
    assertStatus(await fhir(app, 'GET', `Observation/${visible[0]?.id}`))
    const wide = await authorizeApp(patient, app.app, 'launch/patient patient/Observation.rs', patient.ehrId)
    assert.match(wide.tokens.scope, /patient\/Observation\.rs\?category=vital-signs/)
    assert.deepEqual(idsOf(await findOf(wide, typeOf('Observation'), patient.ehrId)), idsOf(visible))
    const day = { ...inPlan(), effectiveDateTime: '2024-06-01T08:00:00Z' }
    assertStatus(await fhir(app, 'POST', 'Observation', bloodPressureOf(patient.ehrId, day)), 201)
  })

  it('reaches a category of a system, however the scope is encoded', async () => {
    const category = 'http://terminology.hl7.org/CodeSystem/observation-category|vital-signs'
    const allResources = await findOf(patient, typeOf('Observation'), patient.ehrId)
    const [id] = allResources.flatMap((one) =>
      JSON.stringify(one.category ?? []).includes('vital-signs') ? one.id : [],
    )
    for (const text of [category, encodeURIComponent(category)]) {
      const app = await authorize(['launch/patient', `patient/Observation.rs?category=${text}`])
      const visible = await findOf(app, typeOf('Observation'), patient.ehrId)
      assert.ok(
        visible.some((one) => one.id === id),
        text,
      )
      assertStatus(await fhir(app, 'GET', `Observation/${id}`))
    }
  })

  const typeOf = (name: string): ResourceType => {
    const resourceType = resourceTypes.find(({ type }) => type === name)
    assert.ok(resourceType)
    return resourceType
  }
})
