import assert from 'node:assert/strict'
import { createByPath, newPlace, type Place } from '../family-kinds.ts'
import { callFhir, type Json, readFhir } from '../fhir/fhir-client.ts'
import { createWeight, type Patient } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { type AppGrant, authorizeApp, createSmartApp } from '../harness/people/smart-apps.ts'

const resourcesIn = ({ entry = [] }: Json): Json[] => entry.map(({ resource }: Json) => resource)

const typesIn = (bundle: Json): string[] => [
  ...new Set(resourcesIn(bundle).flatMap((one) => one?.resourceType ?? [])),
]

/** The content of a cursor, and of a cursor within it. */
const decodeCursor = (cursor: string): string[] => {
  const text = Buffer.from(cursor, 'base64url').toString()
  const inner = /"([A-Za-z0-9_-]{20,})"/.exec(text)?.[1]
  return [text, ...(inner === undefined ? [] : decodeCursor(inner))]
}

describe('attack: find with an app what its scopes hide', () => {
  let patient: Patient
  let place: Place
  let app: AppGrant
  /** The references of resources that the app may not find, and of the vital signs that it may find. */
  let hidden: string[]
  let shown: string
  let earlierShown: string
  let hiddenTimes: number[]
  let deletedId: string

  const authorize = async (...scopes: string[]): Promise<AppGrant> => {
    const requestedScopes = ['launch/patient', ...scopes]
    return authorizeApp(
      patient,
      await createSmartApp(requestedScopes),
      requestedScopes.join(' '),
      patient.ehrId,
    )
  }
  const create = async (name: 'AdverseReaction' | 'BloodGlucose') =>
    String((await createByPath(patient, name, place)).id)

  /** All pages of a search or a history. @param cursors gets what the cursors of the pages contain */
  const readAll = async (path: string, cursors: string[] = []): Promise<Json[]> => {
    const entries: Json[] = []
    for (let next: string | undefined = path; next !== undefined; ) {
      const bundle: Json = await readFhir(app, next)
      entries.push(...(bundle.entry ?? []))
      next = bundle.link.find(({ relation }: Json) => relation === 'next')?.url.replace(/^.*\/fhir\/R4\//, '')
      const cursor = next && new URLSearchParams(next.split('?')[1]).get('_cursor')
      if (cursor) cursors.push(...decodeCursor(cursor))
    }
    return entries
  }

  before(async () => {
    const ownPlace = await newPlace()
    patient = ownPlace.patient
    place = ownPlace.place
    earlierShown = `Observation/${await createWeight(patient, place.carePlanId)}`
    const reactionId = await create('AdverseReaction')
    const glucoseId = await create('BloodGlucose')
    deletedId = await create('BloodGlucose')
    assertStatus(await callFhir(patient, 'DELETE', `Observation/${deletedId}`), 204)
    shown = `Observation/${await createWeight(patient, place.carePlanId)}`
    hidden = [
      `AllergyIntolerance/${reactionId}`,
      `Observation/${glucoseId}`,
      `Observation/${deletedId}`,
      `CarePlan/${place.carePlanId}/_history`,
    ]
    const changes = resourcesIn(await readFhir(patient, `Provenance?patient=${patient.ehrId}&_count=100`))
    hiddenTimes = changes
      .filter(({ target }) => hidden.some((one) => target[0].reference.startsWith(one)))
      .map(({ recorded }) => Date.parse(recorded))
    assert.equal(hiddenTimes.length, 5)
    for (const type of ['AllergyIntolerance', 'Observation', 'CarePlan'])
      await readFhir(patient, `${type}?patient=${patient.ehrId}`)
    app = await authorize(
      ...['Patient', 'Provenance', 'AuditEvent', 'Subscription'].map((type) => `patient/${type}.rs`),
      'patient/Observation.rs?category=vital-signs',
    )
  })

  const assertHidden = (response: unknown, what: string) => {
    for (const reference of hidden) assert.ok(!JSON.stringify(response).includes(reference), what)
  }

  for (const count of [1, 2, 100])
    it(`shows no provenance and no history of it, in pages of ${count}`, async () => {
      for (const query of [
        `Provenance?patient=${patient.ehrId}&`,
        `Observation/_history?patient=${patient.ehrId}&`,
        `_history?patient=${patient.ehrId}&`,
        `Provenance?target=${[...hidden.slice(0, 3), shown].join(',')}&`,
      ]) {
        const cursors: string[] = []
        const entries = await readAll(`${query}_count=${count}`, cursors)
        assertHidden(entries, query)
        assert.equal(new Set(entries.map((one) => JSON.stringify(one))).size, entries.length, query)
        if (!query.includes('target')) {
          assert.ok(JSON.stringify(entries).includes(earlierShown), query)
          for (const text of cursors) {
            for (const reference of hidden) assert.ok(!text.includes(String(reference.split('/')[1])), text)
            for (const time of hiddenTimes) assert.ok(!text.includes(String(time)), text)
          }
        }
        assert.ok(
          JSON.stringify(entries).includes(`${shown}/_history/1`) || query.includes('_history'),
          query,
        )
        assert.ok(JSON.stringify(entries).includes(shown), query)
      }
    })

  it('answers about provenance and history as if it did not exist', async () => {
    for (const target of [...hidden.slice(0, 3), `CarePlan/${place.carePlanId}`]) {
      assert.equal((await readFhir(app, `Provenance?target=${target}`)).entry, undefined, target)
      const [type] = target.split('/')
      const status = type === 'Observation' ? 404 : 403
      assertStatus(await callFhir(app, 'GET', `${target}/_history`), status)
      assertStatus(await callFhir(app, 'GET', `${target}/_history?_count=1`), status)
    }
    assertStatus(await callFhir(app, 'GET', `CarePlan/_history?patient=${patient.ehrId}`), 403)
  })

  it('adds no provenance of it to a search', async () => {
    const path = `Patient?_id=${patient.ehrId}&_revinclude=*`
    assertHidden((await readFhir(app, path)).entry, path)
    const observations = await readFhir(
      app,
      `Observation?patient=${patient.ehrId}&_revinclude=Provenance:target`,
    )
    assert.deepEqual(typesIn(observations), ['Observation', 'Provenance'])
  })

  it('learns from the audit that somebody accessed something, and not what', async () => {
    const allEvents = resourcesIn(await readFhir(patient, `AuditEvent?patient=${patient.ehrId}&_count=500`))
    const events = (await readAll(`AuditEvent?patient=${patient.ehrId}&_count=500`)).map(
      (one) => one.resource,
    )
    const byId = new Map(events.map((one) => [one.id, one]))
    for (const { id, subtype } of allEvents) assert.deepEqual(byId.get(id)?.subtype, subtype)
    assertHidden(events, 'AuditEvent')
    for (const word of ['AdverseReaction', 'BloodGlucose', 'CarePlan'])
      assert.ok(JSON.stringify(allEvents).includes(word) && !JSON.stringify(events).includes(word), word)
    assert.ok(JSON.stringify(events).includes(shown))
    const search = `AuditEvent?patient=${patient.ehrId}&entity=`
    for (const entity of hidden.slice(0, 3))
      assert.equal((await readFhir(app, `${search}${entity}`)).entry, undefined, entity)
    assert.ok(resourcesIn(await readFhir(app, `${search}${shown}`)).length > 0)
  })

  it('learns all of it with scopes for all', async () => {
    const every = await authorize('patient/*.rs')
    const provenance = await readFhir(every, `Provenance?patient=${patient.ehrId}&_count=100`)
    const audit = await readFhir(every, `AuditEvent?patient=${patient.ehrId}&_count=500`)
    for (const reference of [...hidden.slice(0, 3), shown])
      for (const resource of [provenance, audit])
        assert.ok(JSON.stringify(resource).includes(reference), reference)
  })

  it('gets everything of the patient that its scopes show, and no summary of the rest', async () => {
    const resources = resourcesIn({ entry: await readAll(`Patient/${patient.ehrId}/$everything`) })
    assert.deepEqual(
      [...new Set(resources.map(({ resourceType }) => resourceType))],
      ['Patient', 'Observation'],
    )
    assertHidden(
      resources.map(({ resourceType, id }) => `${resourceType}/${id}`),
      '$everything',
    )
    assertStatus(await callFhir(app, 'GET', `Patient/${patient.ehrId}/$everything?_type=CarePlan`), 403)
    const summary = await readFhir(app, `Patient/${patient.ehrId}/$summary`)
    assert.deepEqual(typesIn(summary), ['Composition', 'Patient', 'Observation'])
    const [{ section }] = resourcesIn(summary)
    const reasons = section.map(({ emptyReason }: Json) => emptyReason?.coding[0].code)
    assert.deepEqual(
      reasons.filter((one: unknown) => one !== 'withheld'),
      [undefined],
    )
  })
})
