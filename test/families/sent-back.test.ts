import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TObject } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/documentation/example.ts'
import type { Operation } from '../../path-api/operation/operation.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { RawBody } from '../../path-api/reply/body-media.ts'
import { findReadOnlyProperties } from '../../path-api/request/read-only-properties.ts'
import { CLASS_NAMES, classKindOf, isClassName } from '../../records/kinds.ts'
import { byClass, type Json, newPlace, type Place } from '../family-kinds.ts'
import type { Patient } from '../harness/care/patients.ts'
import {
  exampleBody,
  exampleObject,
  fillPath,
  parentIdsOf,
  withOtherKey,
} from '../harness/care/samples/examples.ts'
import { isSampled } from '../harness/care/samples/kinds-of-each-shape.ts'
import { type Answer, assertProblemPlaces, assertStatus } from '../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { createPerson, createRoleHolder, type Person } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

const shapeOf = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')
const isList = ({ reply: [, body] }: Operation) =>
  body !== undefined && !(body instanceof RawBody) && 'items' in (body.properties ?? {})
const find = (method: string, path: string) =>
  operationTable.find((one) => one.method === method && shapeOf(one.path) === shapeOf(path))

/** The operations that replace what a GET on the same path shows, and those that read it themselves. */
/**
 * The openEHR REST API answers without the resource: test/path-family/openehr-rest/replacements.test.ts. FHIR has its
 * own types for bodies: test/fhir/round-trip.test.ts.
 */
const replacements = operationTable.filter((operation) => {
  if (operation.api !== undefined) return false
  const get = find('get', operation.path)
  return (
    operation.method === 'put' && ((get && !isList(get)) || operation.readCurrent) && isSampled(operation)
  )
})

/** The operations that create a resource from JSON. To hand over a worklist takes a colleague. */
const creations = operationTable.filter(
  (operation) =>
    operation.api === undefined &&
    operation.reply[0] === 201 &&
    operation.id !== 'handOverWorklist' &&
    !(operation.body instanceof RawBody) &&
    isSampled(operation),
)

/** Another value of the same type. */
const changedFrom = (value: unknown): unknown => {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  return Array.isArray(value) ? [...value, 'changed'] : 'changed'
}

describe('what GET answers', () => {
  let patient: Patient
  let place: Place
  let modeller: Person
  let administrator: Person
  let template: string
  const ids: Record<string, string> = {}
  before(async () => {
    ;[{ patient, place }, modeller, administrator, template] = await Promise.all([
      newPlace(),
      createRoleHolder('modeller'),
      createRoleHolder('admin'),
      getStoredTemplate(),
    ])
    const relation = await patient.call('POST', `/profile/${patient.mvUid}/relation`, {
      name: { displayName: 'Bea' },
    })
    const topic = await patient.call('POST', `/chat/careplan/${place.carePlanId}`, { title: 'x', text: 'y' })
    Object.assign(ids, { type: 'careplan', id: place.carePlanId, topicId: assertStatus(topic, 201).id })
    Object.assign(ids, { ...place, mvUid: patient.mvUid, ownerId: place.carePlanId })
    ids.relationId = assertStatus(relation, 201).id
    Object.assign(ids, { guidelineId: 'asthma', eventId: 'fall' })
    ids.name = `q-${randomUUID()}`
  })

  const callerOf = ({ access }: Operation) =>
    access === 'modeller' ? modeller : access === 'admin' ? administrator : patient

  /** The body of an example, in the place of the test. */
  async function bodyOf(operation: Operation): Promise<Json> {
    const { kind, body, path } = operation
    if (path.includes('/composition/')) return createPressureComposition(template, 120) as Json
    const example = isClassName(kind) ? exampleBody(kind) : (exampleOf(body as TObject) as Json)
    const { properties } = isClassName(kind) ? classKindOf(kind).body : (body as TObject)
    return {
      ...example,
      ...('carePlanId' in properties && { carePlanId: place.carePlanId }),
      ...('mvUid' in example && { mvUid: (await createPerson()).mvUid }),
      ...(path.startsWith('/data/type') && { type: `t-${randomUUID()}` }),
      ...(path.endsWith('/relation') && { id: undefined }),
      // Only the authentication by a key has keys, and only a backend service has a system.
      ...(path === '/auth/app' && {
        name: `App ${randomUUID()}`,
        jwks: undefined,
        jwksUri: undefined,
        systemId: undefined,
      }),
      ...('participants' in example && { participants: undefined }),
      ...('replyTo' in example && { replyTo: undefined, attachments: undefined }),
    }
  }

  /** Creates what a PUT replaces. @returns its path, and the response that shows it */
  async function show(put: Operation): Promise<{ path: string; response: Answer }> {
    const { call } = callerOf(put)
    // A message is added to its topic, and shown there.
    const list = put.path.replace(/(\/message)?\/\{\w+\}(\/(json|xml))?$/, '')
    const add =
      list === put.path
        ? undefined
        : (find('post', list) ?? find('post', `${list}/json`) ?? find('put', list))
    let path = fillPath(put.path, ids)
    let latestResponse: Answer | undefined
    if (add && (add.reply[0] === 201 || add.creates)) {
      const posted = await call(add.method.toUpperCase(), fillPath(add.path, ids), await bodyOf(add))
      assertStatus(posted, 201)
      const [, format = ''] = /(\/(?:json|xml))$/.exec(put.path) ?? []
      const { id } = posted.body
      path = posted.headers.get('location') ?? fillPath(put.path, { ...ids, taskId: id, messageId: id })
      path += format
      latestResponse = posted
    } else if (put.creates) {
      const body = await bodyOf(put)
      path = fillPath(put.path, { ...ids, ...body })
      assertStatus(await call('PUT', path, body), 201)
    }
    if (find('get', put.path)) latestResponse = await call('GET', path)
    assert.ok(latestResponse, put.id)
    return { path, response: latestResponse }
  }

  it('is known for every PUT that answers what a GET shows', () => {
    assert.ok(replacements.length > 25)
    const withoutGet = operationTable
      .filter(({ method }) => method === 'put')
      .filter((put) => !find('get', put.path))
    const withoutReader = withoutGet.filter(({ readCurrent }) => readCurrent === undefined)
    assert.deepEqual(
      withoutReader.map(({ id }) => id),
      [],
    )
  })

  for (const operation of creations)
    it(`is at the Location of what ${operation.id} creates`, async () => {
      const { call } = callerOf(operation)
      const created = await call('POST', fillPath(operation.path, ids), await bodyOf(operation))
      assertStatus(created, 201)
      const location = created.headers.get('location')
      const unit = operation.path.split('/').at(-1) ?? ''
      if (location === null) assert.match(unit, /^(system|ehr|task|\{topicId\})$/, 'no GET shows it')
      else assertStatus(await call('GET', location))
    })

  for (const put of replacements) {
    it(`is taken by ${put.id}, and a changed read-only property is named`, async () => {
      const { call } = callerOf(put)
      const { path, response } = await show(put)
      const type = response.headers.get('content-type') ?? ''
      const isXml = type.includes('xml')
      const body = isXml ? Buffer.from(response.body) : response.body
      const headers = { 'if-match': response.etag, ...(isXml && { 'content-type': 'application/xml' }) }
      const same = await call('PUT', path, body, headers)
      assertStatus(same)
      const readOnly = findReadOnlyProperties(put, operationTable)?.names ?? new Set<string>()
      if (readOnly.size === 0) return
      const names = [...readOnly].filter((name) => name in same.body)
      const { etag } = same
      const changed = Object.fromEntries(names.map((name) => [name, changedFrom(same.body[name])]))
      const refusal = await call('PUT', path, { ...same.body, ...changed }, { 'if-match': etag })
      assert.deepEqual(
        assertProblemPlaces(refusal, 400, 'invalid-input').sort(),
        names.map((name) => `body.${name}`).sort(),
      )
      const stale = await call('PUT', path, { ...same.body, ...changed }, { 'if-match': '"999"' })
      assertProblemPlaces(stale, 412, 'precondition-failed')
    })
  }

  for (const name of CLASS_NAMES.filter((one) => !classKindOf(one).readOnly))
    it(`is taken by the class family, without a version: ${name}`, async () => {
      const { post, get, put, batch } = byClass(patient)
      const sample = { ...parentIdsOf(name, place), ...exampleObject(name) }
      const id = (await post(name, withOtherKey(name, sample)).expect(201)).body.objectId
      const { body } = await get(name, id).expect(200)
      const history = service.db.collection('history.changes')
      const changes = () => history.countDocuments({ _id: { $regex: `/${name}/${id}/` } as never })
      const changeCount = await changes()
      const { className: _, ...object } = body
      for (const fields of [body, {}, { version: body.version }]) {
        const answer = await put(name, id, fields)
        assert.deepEqual([answer.status, answer.body, answer.headers.etag], [200, object, '"1"'])
      }
      const [{ success }] = (await batch([{ method: 'PUT', path: `/1/classes/${name}/${id}`, body }])).body
      assert.deepEqual(success, object)
      assert.deepEqual((await get(name, id).expect(200)).body, body)
      assert.equal(await changes(), changeCount)
      const filter = { type: name, ids: id, action: 'update' }
      assert.equal(await service.db.collection('audit.entries').countDocuments(filter), 0)
    })

  it('is taken by the class family, without a version: the account', async () => {
    const { get, put } = byClass(patient)
    const { body } = await get('_User', patient.mvUid).expect(200)
    for (const fields of [body, {}]) {
      const { status, body: answer } = await put('_User', patient.mvUid, fields)
      assert.equal(status, 200, JSON.stringify([answer, body]))
      assert.deepEqual((await get('_User', patient.mvUid).expect(200)).body, body)
    }
  })
})
