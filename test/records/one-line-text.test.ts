import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import { operationTable } from '../../path-api/operation-table.ts'
import { FormBody, RawBody } from '../../path-api/reply/body-media.ts'
import { CLASS_NAMES, classKindOf } from '../../records/kinds.ts'
import { ClassAccountChange, ClassSignUp } from '../../schemas/accounts/class-accounts.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import { newPlace } from '../family-kinds.ts'
import { assertProblem } from '../harness/clients/path-client.ts'
import { request } from '../harness/service/service.ts'

const LINE_BREAKS = ['\r', '\n', '\r\nBcc: x@example.org', '\u2028', '\u2029', '\u0085', '\t', '\0']

/** Texts that are compared and never shown: secrets, ids of existing objects, and names from a list. */
const COMPARED = new Set([
  'password',
  'newPassword',
  'currentPassword',
  'token',
  'refreshToken',
  'code',
  'nonce',
  'idToken',
  'mvUids',
  'email',
  'id',
])

function* textsIn(schema: TSchema, path: string[] = []): Generator<[path: string[], text: TSchema]> {
  const isText = [schema.type].flat().includes('string')
  if (isText && schema.enum === undefined && schema.const === undefined) yield [path, schema]
  for (const [name, member] of Object.entries<TSchema>(schema.properties ?? {}))
    yield* textsIn(member, [...path, name])
  for (const member of Object.values<TSchema>(schema.patternProperties ?? {})) yield* textsIn(member, path)
  if (schema.items) yield* textsIn(schema.items, path)
  for (const member of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* textsIn(member, path)
}

/** Whether a text is shown, and has no values of its own that a rule checks. */
const isShown = ([path, { description, documented }]: [string[], TSchema]): boolean =>
  !COMPARED.has(path.at(-1) ?? '') &&
  !/^(Id of (?!the measuring)|Name of a preset)/.test(description ?? '') &&
  !documented?.enum

const bodySchemaOf = (body: unknown): TSchema | undefined =>
  body instanceof FormBody ? body.schema : body instanceof RawBody ? undefined : (body as TSchema | undefined)

const inputs: [name: string, schema: TSchema][] = [
  ...CLASS_NAMES.map(classKindOf).flatMap(({ name, create, update }): [string, TSchema][] => [
    [`class ${name}: create`, create],
    [`class ${name}: update`, update],
  ]),
  ['class _User: create', ClassSignUp],
  ['class _User: update', ClassAccountChange],
  ...operationTable.flatMap(({ id, params, body }): [string, TSchema][] => {
    const schema = bodySchemaOf(body)
    return [[`${id}: path`, params], ...(schema ? ([[`${id}: body`, schema]] as [string, TSchema][]) : [])]
  }),
]

describe('texts of one line', () => {
  it('are all texts of all kinds and operations, unless their schema names them as multi-line', () => {
    const checked = new Map<string, string[]>()
    for (const [name, schema] of inputs)
      for (const [path, text] of [...textsIn(schema)].filter(isShown)) {
        if (text.contentMediaType !== undefined) continue
        const { minLength: _, ...rules } = text
        const isValid = createValidator(rules as TSchema)
        const place = `${name} ${path.join('.')}`
        checked.set(
          place,
          LINE_BREAKS.filter((breaks) => isValid(`a${breaks}`).length === 0),
        )
      }
    const accepting = [...checked].filter(([, accepted]) => accepted.length > 0).map(([place]) => place)
    assert.deepEqual(accepting, [])
    assert.ok(checked.size > 300, String(checked.size))
  })

  it('are refused with line breaks in both families; other texts have them', async () => {
    const { patient, place } = await newPlace()
    const plan = `/ehr/${place.ehrId}/careplan`
    const title = 'Walk\r\nBcc: x@example.org'
    const refusal = await patient.call('POST', plan, { name: title })
    assert.deepEqual(assertProblem(refusal, 400, 'invalid-input'), ['format'])
    const ofClass = { ehrId: place.ehrId, name: title }
    const { status, body } = await request().post('/1/classes/CarePlan').set(patient.headers).send(ofClass)
    assert.deepEqual([status, body.code], [400, 142], JSON.stringify(body))
    assert.match(body.error, /name must be one line/)
    const notes = 'First line\r\nsecond\tline'
    const answer = await patient.call('POST', plan, { name: 'Walk', notes })
    assert.equal(answer.status, 201)
    assert.equal(answer.body.notes, notes)
    const substance = encodeURIComponent('Penicillin\n')
    const path = `/ehr/${place.ehrId}/adversereaction/${substance}`
    const reaction = { reactions: [{ manifestation: 'Rash' }] }
    assert.equal((await patient.call('PUT', path, reaction)).status, 400)
  })
})
