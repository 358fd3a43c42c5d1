import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/documentation/example.ts'
import { type Operation, pathParameterNames } from '../../path-api/operation/operation.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { FormBody, RawBody } from '../../path-api/reply/body-media.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import type { Answer } from '../harness/clients/path-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import {
  createPressureComposition,
  createPressureXml,
  createTemplateXml,
  getStoredTemplate,
  sendXml,
} from '../harness/openehr-samples.ts'
import { createRoleHolder, type Person } from '../harness/people/people.ts'
import { bySize, isFullSize } from '../harness/test-size.ts'

/** The names that every object of JavaScript has, without any of its own. */
const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

type Json = Record<string, unknown>

type Place = readonly (string | number)[]

/** The places of all texts and all objects in a value. */
function* placesIn(value: unknown, at: Place = []): Generator<Place> {
  if (typeof value === 'string') yield at
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield at
  for (const [key, one] of Object.entries(value)) yield* placesIn(one, [...at, key])
}

/** JSON text, since `__proto__` in an object literal would not be a property. */
function jsonWith(
  value: unknown,
  name: string,
  places: ReadonlySet<string>,
  further: unknown,
  at: Place = [],
): string {
  const isChanged = places.has(at.join('/'))
  if (typeof value !== 'object' || value === null) return JSON.stringify(isChanged ? name : value)
  const members = Object.entries(value).map(([key, one]) => [
    key,
    jsonWith(one, name, places, further, [...at, key]),
  ])
  if (Array.isArray(value)) return `[${members.map(([, text]) => text).join()}]`
  if (isChanged) members.push([name, JSON.stringify(further)])
  return `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join()}}`
}

const FURTHER = ['x', { x: 1 }]

/** A value with the name in place of each text, and as a further property of each object: one place at a time. */
function* withNames(value: unknown, name: string): Generator<string> {
  for (const place of placesIn(value))
    for (const further of FURTHER.slice(0, isObjectAt(value, place) ? 2 : 1))
      yield jsonWith(value, name, new Set([place.join('/')]), further)
}

const isObjectAt = (value: unknown, place: Place): boolean =>
  typeof place.reduce((one, key) => (one as Json)[key], value) === 'object'

/** The items for each name; at the usual size, each item gets one of the names. */
const inTurn = <T>(itemsOf: (name: string) => Iterable<T>): T[] =>
  NAMES.flatMap((name, turn) => [...itemsOf(name)].filter((_, i) => isFullSize || i % NAMES.length === turn))

/**
 * The same in as few bodies as reach each place: one with all places that fit the schema, so that the operation is
 * carried out, and one with all others, since a refusal names every violation.
 */
function* withNamesTogether(schema: TSchema, value: unknown, name: string): Generator<string> {
  const isValid = createValidator(schema)
  const places = [...placesIn(value)].map((place) => place.join('/'))
  const fits = (place: string) =>
    isValid(JSON.parse(jsonWith(value, name, new Set([place]), 'x'))).length === 0
  const fitting = places.filter(fits)
  for (const [i, some] of [fitting, places.filter((place) => !fitting.includes(place))].entries())
    if (some.length > 0) yield jsonWith(value, name, new Set(some), FURTHER[i])
}

const TYPE_FAMILIES = ['data', 'event', 'device'] as const
/** A type of each family for this test alone. */
const OWN_TYPE = `names-${randomUUID()}`
const isOfTypes = (path: string): boolean => path.startsWith('/data/type/')

const exampleOfTypes = (family: string): Json => {
  const add = operationTable.find(({ path, method }) => path === `/data/type/${family}` && method === 'post')
  return exampleOf(add?.body as TSchema) as Json
}

/** Names that objects inherit, where clients name fields, types, attributes, codes and functions. */
describe('attack: names that every object inherits', function suite() {
  this.timeout(bySize(60_000, 600_000))
  let patient: Patient
  let modeller: Person
  const ids: Record<string, string> = {}
  const faults: string[] = []
  afterEach(async () => {
    assert.deepEqual(faults.splice(0), [])
    // Otherwise the service would have refused most of the requests before it read them.
    assertStatus(await patient.call('GET', 'careplan'))
    assertStatus(await modeller.call('GET', '/data/type/data'))
  })
  before(async () => {
    ;[patient, modeller] = await Promise.all([createPatient(), createRoleHolder('modeller')])
    Object.assign(ids, { ehrId: patient.ehrId, careplanId: await createPlan(patient) })
    for (const family of TYPE_FAMILIES) {
      const body = { ...exampleOfTypes(family), type: OWN_TYPE }
      assertStatus(await modeller.call('POST', `/data/type/${family}`, body), 201)
    }
  })
  // Others find only the types that come with the service.
  after(async () => {
    for (const family of TYPE_FAMILIES)
      for (const type of [OWN_TYPE, ...NAMES]) await modeller.call('DELETE', `/data/type/${family}/${type}`)
  })

  const noteFault = ({ status, body }: Pick<Answer, 'status' | 'body'>, about: string): void => {
    if (status >= 500) faults.push(`${about.slice(0, 500)}: ${status} ${JSON.stringify(body).slice(0, 500)}`)
  }
  const pathOf = ({ path, params }: Operation, replaced: Record<string, string> = {}) =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const ownValue = isOfTypes(path) && name === 'type' ? OWN_TYPE : ids[name]
      return encodeURIComponent(
        replaced[name] ?? ownValue ?? String(exampleOf(params.properties[name] as TSchema)),
      )
    })
  /** Nothing changes the types that come with the service. */
  const bodyOf = ({ path, body }: Operation): unknown => {
    const example = exampleOf(body as TSchema)
    return isOfTypes(path) ? { ...(example as Json), type: OWN_TYPE } : example
  }

  /** Other operations end the sessions of the caller, or ask an identity provider that does not exist. */
  const isHarmless = ({ path, method, id }: Operation) =>
    !/logout|deleteAccount|loginWithGoogle/i.test(id) &&
    !(method === 'delete' && /^\/(auth|ehr\/\{ehrId\}$)/.test(path))

  it('cause no fault as parameters and in bodies of any operation', async () => {
    let turn = 0
    for (const operation of operationTable.filter(isHarmless)) {
      const { method, body, query, id } = operation
      const callAs = method === 'get' || /^\/(med\/knowledge|data)/.test(operation.path) ? modeller : patient
      const call = async (path: string, text?: string) => {
        const headers = {
          'if-match': '"1"',
          ...(text !== undefined && { 'content-type': 'application/json' }),
        }
        const bytes = text === undefined ? undefined : Buffer.from(text)
        noteFault(await callAs.call(method.toUpperCase(), path, bytes, headers), `${id} ${path} ${text}`)
      }
      const schema = body instanceof RawBody || body instanceof FormBody ? undefined : body
      for (const name of isFullSize ? NAMES : [NAMES[turn++ % NAMES.length] as string]) {
        const paths = pathParameterNames(operation.path).map((parameter) =>
          pathOf(operation, { [parameter]: name }),
        )
        const queries = Object.keys(query.properties).map((parameter) => `${parameter}=${name}`)
        if (method === 'get')
          paths.push(...[...queries, `${name}=1`].map((one) => `${pathOf(operation)}?${one}`))
        await Promise.all(paths.map((path) => call(path)))
        if (!schema) continue
        const example = bodyOf(operation)
        const bodies = isFullSize ? withNames(example, name) : withNamesTogether(schema, example, name)
        for (const requestBody of bodies) await call(pathOf(operation), requestBody)
      }
    }
  })

  it('cause no fault in queries of AQL', async () => {
    const shapes = [
      'SELECT ? FROM EHR e',
      'SELECT e/? FROM EHR e',
      'SELECT e/ehr_id/?/? FROM EHR e',
      'SELECT ?(e/ehr_id) FROM EHR e',
      'SELECT e/ehr_id/value AS ? FROM EHR e ORDER BY ?',
      'SELECT ?/ehr_id/value FROM EHR ? WHERE ?/ehr_id/value = $?',
      'SELECT c/?[?] FROM EHR e CONTAINS COMPOSITION c',
      "SELECT c/content[?]/?[?='x'] FROM EHR e CONTAINS COMPOSITION c[?]",
      'SELECT c FROM EHR e CONTAINS ? c',
      "SELECT c/name/? FROM EHR e CONTAINS COMPOSITION c WHERE c/? LIKE '?*' AND EXISTS c/?",
      "SELECT c FROM EHR e CONTAINS COMPOSITION c[?='?'] WHERE c/? matches {'?', $?} ORDER BY c/?",
      'SELECT COUNT(c/?), MAX(c/?/value) FROM EHR e CONTAINS COMPOSITION c',
      "SELECT c FROM EHR e CONTAINS VERSION v[?='x'] CONTAINS COMPOSITION c",
    ]
    for (const name of NAMES)
      for (const shape of shapes) {
        const q = shape.replaceAll('?', name)
        for (const more of ['', `,"query_parameters":{"${name}":"${name}"}`])
          noteFault(
            await patient.call('POST', '/med/aql', Buffer.from(`{"q":${JSON.stringify(q)}${more}}`), {
              'content-type': 'application/json',
            }),
            q,
          )
      }
  })

  it('cause no fault in templates, their forms, examples and compositions', async () => {
    const primitive = (name: string) =>
      `<children xsi:type="C_PRIMITIVE_OBJECT"><rm_type_name>${name}</rm_type_name><node_id>${name}</node_id><item xsi:type="${name}"><list>${name}</list><pattern>${name}</pattern></item></children>`
    const places: [place: string, pattern: string | RegExp, replacementOf?: (name: string) => string][] = [
      ['template_id', /(?<=<template_id><value>)[^<]*/],
      ['concept', /(?<=<concept>)[^<]*/],
      ['an attribute', /(?<=<rm_attribute_name>)(?:value|items|data)(?=<)/],
      ['all attributes', /(?<=<rm_attribute_name>)[^<]*/g],
      ['node ids', /(?<=<node_id>)at000[2-9](?=<)|(?<=term_definitions code=")at000[2-9]/g],
      ['archetypes', /(?<=<archetype_id><value>)[^<]*/g],
      ['terms', /(?<=<items id=")[^"]*/g],
      ['texts', /(?<=<items id="text">)[^<]*/g],
      ['classes', /(?<=<rm_type_name>)[A-Z_]+/g],
      ['a class', /(?<=<rm_type_name>)ELEMENT/],
      ['types of constraints', /(?<=xsi:type=")C_DV_QUANTITY/g],
      ['all types of constraints', /(?<=xsi:type=")[^"]*/g],
      ['units', /(?<=<units>)[^<]*/g],
      ['element', '<concept>', (name) => `<${name}>x</${name}><concept>`],
      ['xml attribute', '<concept>', (name) => `<concept ${name}="x">`],
      ['primitive', /<children xsi:type="C_DV_QUANTITY">[\s\S]*?<\/children>/g, primitive],
    ]
    const documents = inTurn((name) =>
      places.map(([place, pattern, replacementOf]) => ({
        name,
        description: `${place} ${name}`,
        xml: createTemplateXml(`Names ${randomUUID()}`).replace(pattern, replacementOf?.(name) ?? name),
      })),
    )
    for (const { name, description, xml } of documents) {
      const stored = await sendXml(modeller, 'POST', '/med/knowledge/template', xml)
      noteFault(stored, description)
      const id = /<template_id><value>([^<]*)/.exec(xml)?.[1] ?? ''
      const path = `/med/knowledge/template/${encodeURIComponent(id)}`
      const json = { accept: 'application/json' }
      noteFault(await patient.call('GET', path, undefined, json), `${description}: web template`)
      for (const level of ['required', 'medium', 'complete'])
        for (const format of isFullSize || level === 'complete' ? ['json', 'xml', 'flat'] : ['json']) {
          const example = await patient.call('GET', `${path}/example?detail_level=${level}&format=${format}`)
          noteFault(example, `${description}: ${level} example in ${format}`)
          if (format !== 'json' || example.status !== 200) continue
          const response = await patient.call(
            'POST',
            `/med/ehr/${patient.ehrId}/composition/json`,
            example.body,
          )
          noteFault(response, `${description}: the ${level} example stored`)
        }
      const composition = createPressureComposition(id, 120)
      noteFault(
        await patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, composition),
        `${description}: composition`,
      )
      const archetype = `/med/knowledge/archetype/${encodeURIComponent(name)}`
      noteFault(await patient.call('GET', archetype), `${description}: archetype`)
      if (stored.status === 201) noteFault(await modeller.call('DELETE', path), `${description}: removal`)
    }
  })

  it('cause no fault in compositions', async () => {
    const template = await getStoredTemplate()
    const path = `/med/ehr/${patient.ehrId}/composition`
    const json = JSON.parse(JSON.stringify(createPressureComposition(template, 120)))
    for (const text of inTurn((name) => withNames(json, name)))
      noteFault(
        await patient.call('POST', `${path}/json`, Buffer.from(text), { 'content-type': 'application/json' }),
        text,
      )
    const xml = createPressureXml(template, 120).toString()
    for (const name of NAMES)
      for (const changed of [
        xml.replaceAll(/<data\b/g, `<${name}>x</${name}><data`),
        xml.replaceAll(/(?<=type=")[A-Z_]+/g, name),
        xml.replaceAll(/(?<=archetype_node_id=")[^"]*/g, name),
        xml.replace('<composition', `<composition ${name}="x"`),
      ])
        noteFault(await sendXml(patient, 'POST', `${path}/xml`, changed), changed)
  })

  it('cause no fault in schemas of data types, and in their values', async () => {
    const owner = await createPatient()
    const carePlanId = await createPlan(owner)
    let stored = 0
    for (const name of NAMES.filter((one) => one !== '__proto__')) {
      const property = { [name]: { type: 'string' } }
      for (const schema of [
        { type: 'object', properties: property },
        { type: 'object', required: [name], dependentRequired: { [name]: [name] } },
        { type: 'object', $defs: property, properties: { [name]: { $ref: `#/$defs/${name}` } } },
        { type: 'object', $ref: `#/$defs/${name}` },
        { [name]: {} },
      ]) {
        const dataType = `names-${randomUUID()}`
        const body = { type: dataType, name: 'Names', schema }
        const response = await modeller.call('POST', '/data/type/data', body)
        noteFault(response, JSON.stringify(body))
        for (const value of [{ [name]: 'x' }, {}, { x: name }]) {
          const data = { carePlanId, dataType, value, timestamp: '2026-03-01T20:00:00Z' }
          const answer = await owner.call('POST', `/data/${owner.mvUid}/measurement`, data)
          noteFault(answer, JSON.stringify([schema, value]))
          stored += answer.body.stored ?? 0
        }
      }
    }
    assert.equal(stored, 28)
  })

  it('cause no fault in the class family', async () => {
    const { get } = createClassClient(patient)
    const { request } = await import('../harness/service/service.ts')
    for (const name of NAMES) {
      noteFault(await get(name, 'x'), name)
      const queries = [
        { where: `{"${name}":"x"}` },
        { where: `{"name":{"${name}":1}}` },
        { where: `{"${name}":{"$exists":true}}` },
        { where: `{"name.${name}":1}` },
        { where: `{"ehrId":{"$inQuery":{"className":"${name}","where":{}}}}` },
        { where: `{"ehrId":{"$select":{"key":"${name}","query":{"className":"Ehr"}}}}` },
        ...['order', 'keys', 'include', 'excludeKeys', 'distinct', 'limit', 'readPreference', name].map(
          (parameter) => ({ [parameter]: name }),
        ),
      ]
      for (const query of queries)
        noteFault(
          await request().get('/1/classes/CarePlan').set(patient.headers).query(query),
          JSON.stringify(query),
        )
    }
    const plan = { ehrId: ids.ehrId, name: 'x', ACL: { '*': { read: true } } }
    const custom = {
      ehrId: ids.ehrId,
      carePlanId: ids.careplanId,
      modelClassName: 'x',
      payload: { a: { b: 1 } },
    }
    const bodies = [
      ['CarePlan', plan],
      ['Custom', custom],
    ] as const
    for (const [className, body] of bodies)
      for (const text of inTurn((name) => withNames(body, name)))
        noteFault(
          await request()
            .post(`/1/classes/${className}`)
            .set({ ...patient.headers, 'content-type': 'application/json' })
            .send(text),
          text,
        )
    assertStatus(await patient.call('GET', '/ehr'))
  })
})
