import assert from 'node:assert/strict'
import { ASYNC, idsOf, pathOf, readFiles, startExport, waitForExport } from '../../fhir/export/bulk-export.ts'
import { bloodPressureOf, callFhir, type FhirCaller, type Json } from '../../fhir/fhir-client.ts'
import { createPatient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import {
  type BackendService,
  createBackendService,
  createEhrOfSystem,
} from '../../harness/people/backend-services.ts'
import { service } from '../../harness/service/service.ts'

const EVERYTHING = 'system/*.cruds'

describe('the export of a backend service', function suite() {
  this.timeout(60_000)
  let backend: BackendService
  let as: FhirCaller
  let ehrIds: string[]
  let planIds: string[]

  const asService = async (scope: string, of = backend): Promise<FhirCaller> => ({
    call: await of.logIn(scope),
  })

  const create = async (resource: Json): Promise<string> =>
    assertStatus(await callFhir(as, 'POST', resource.resourceType, resource), 201).id

  before(async () => {
    backend = await createBackendService([EVERYTHING])
    as = await asService(EVERYTHING)
    ehrIds = [await createEhrOfSystem(backend.system), await createEhrOfSystem(backend.system)]
    planIds = []
    for (const ehrId of ehrIds) {
      const subject = { reference: `Patient/${ehrId}` }
      planIds.push(
        await create({
          resourceType: 'CarePlan',
          status: 'active',
          intent: 'plan',
          title: 'Follow-up',
          subject,
        }),
      )
      await create(bloodPressureOf(ehrId))
    }
  })

  /** Exports, and deletes the files afterwards: an app may keep ten exports. */
  const exportAs = async (who: FhirCaller, path: string) => {
    const status = await startExport(who, path)
    const files = await readFiles(who, (await waitForExport(who, status)).body)
    assertStatus(await callFhir(who, 'DELETE', status), 202)
    return files
  }

  it('has all EHRs of its system, or that of a care plan, and no others', async () => {
    await createPatient()
    const allTypes = await exportAs(as, 'Patient/$export')
    assert.deepEqual([...allTypes.keys()].sort(), ['CarePlan', 'Observation', 'Patient'])
    assert.deepEqual(idsOf(allTypes.get('Patient')), [...ehrIds].sort())
    assert.equal(allTypes.get('Observation')?.length, 2)
    const one = await exportAs(as, `Group/${planIds[0]}/$export`)
    assert.deepEqual(idsOf(one.get('Patient')), [ehrIds[0]])
    assert.deepEqual(idsOf(one.get('CarePlan')), [planIds[0]])
  })

  it('leaves entries with the name of the app in the audit of each patient', async () => {
    const since = new Date()
    await exportAs(await asService('system/Observation.rs'), 'Patient/$export')
    for (const ehrId of ehrIds) {
      const entries = await service.db
        .collection('audit.entries')
        .find({ ehrId, at: { $gte: since } })
        .toArray()
      assert.deepEqual(
        entries.map(({ action, type, userId, application }) => [action, type, userId, application]),
        entries.map(({ type }) => ['query', type, backend.system.id, backend.app.name]),
      )
      assert.ok(entries.some(({ type }) => type === 'BloodPressure'))
    }
  })

  it('has the types of its scopes, and refuses to leave out one that is named', async () => {
    const reader = await asService('system/Observation.rs system/Goal.c')
    assert.deepEqual([...(await exportAs(reader, 'Patient/$export')).keys()], ['Observation'])
    for (const [who, query] of [
      [reader, '?_type=Observation,CarePlan'],
      [reader, '?_type=Goal'],
      [await asService('system/Goal.c'), ''],
    ] as const) {
      const refusal = await callFhir(who, 'GET', `Patient/$export${query}`, undefined, ASYNC)
      assert.equal(refusal.status, 403, query)
    }
  })

  it('has the categories of its scopes, and only what it has in the audit', async () => {
    const scope = 'system/Observation.rs?category=laboratory'
    const since = new Date()
    const laboratory = await asService(scope)
    assert.deepEqual([...(await exportAs(laboratory, 'Patient/$export')).keys()], [])
    const filter = { ehrId: { $in: ehrIds }, at: { $gte: since }, 'ids.0': { $exists: true } }
    assert.equal(await service.db.collection('audit.entries').countDocuments(filter), 0)
    const vital = await asService('system/Observation.rs?category=vital-signs')
    assert.equal((await exportAs(vital, 'Patient/$export')).get('Observation')?.length, 2)
  })

  it('lists the deletions of its types and categories only', async () => {
    const since = new Date().toISOString()
    const id = await create(bloodPressureOf(ehrIds[0] ?? '', { effectiveDateTime: '2026-03-02T09:30:00Z' }))
    assertStatus(await callFhir(as, 'DELETE', `Observation/${id}`), 204)
    const deletions = async (scope: string) => {
      const files = await exportAs(await asService(scope), `Patient/$export?_since=${since}`)
      return (files.get('Bundle') ?? []).map(({ entry }) => entry[0].request.url)
    }
    assert.deepEqual(await deletions('system/Observation.rs'), [`Observation/${id}`])
    assert.deepEqual(await deletions('system/Observation.rs?category=vital-signs'), [`Observation/${id}`])
    assert.deepEqual(await deletions('system/Observation.rs?category=laboratory'), [])
    assert.deepEqual(await deletions('system/CarePlan.rs'), [])
  })

  it('belongs to the app alone, and to tokens with the same scopes or more', async () => {
    const other = await createBackendService([EVERYTHING], { systemId: backend.system.id })
    const path = await startExport(as, 'Patient/$export?_type=Observation,Patient')
    const { body } = await waitForExport(as, path)
    const files = body.output.map(({ url }: Json) => pathOf(url))
    const otherSystem = await asService(EVERYTHING, other)
    const [patientsOnly, byCategory] = await Promise.all([
      asService('system/Patient.rs'),
      asService('system/Patient.rs system/Observation.rs?category=vital-signs'),
    ])
    for (const file of files) {
      assert.equal((await callFhir(otherSystem, 'GET', file)).status, 404)
      const isOfPatients = file.endsWith('Patient.ndjson')
      for (const who of [patientsOnly, byCategory])
        assert.equal((await callFhir(who, 'GET', file)).status, isOfPatients ? 200 : 403, file)
    }
    for (const method of ['GET', 'DELETE'])
      assert.equal((await callFhir(otherSystem, method, path)).status, 404)
    assertStatus(await callFhir(patientsOnly, 'DELETE', path), 202)
  })
})
