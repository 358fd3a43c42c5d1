import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Answer } from '../../../harness/clients/path-client.ts'
import { asXml, showing } from '../../../harness/people/rest-systems.ts'
import {
  assertStatuses,
  type ConformanceArea,
  type ConformanceCase,
  createEhr,
  type Fixture,
  subjectStatus,
  xmlOf,
} from '../fixture.ts'

const element = (value: string, nodeId = 'at0002') => ({
  _type: 'ELEMENT',
  archetype_node_id: nodeId,
  name: { value: 'text' },
  value: { _type: 'DV_TEXT', value },
})

const detail = (type: string, content: object) => ({
  _type: type,
  archetype_node_id: 'at0001',
  name: { value: 'details' },
  ...content,
})

const DETAILS = [
  detail('ITEM_TREE', { items: [element('one'), element('two')] }),
  detail('ITEM_LIST', { items: [element('one')] }),
  detail('ITEM_SINGLE', { item: element('one') }),
  detail('ITEM_TABLE', {
    rows: [
      {
        _type: 'CLUSTER',
        archetype_node_id: 'at0003',
        name: { value: '1' },
        items: [element('one')],
      },
    ],
  }),
]

/** Creates an EHR by POST, or by PUT with a new id. */
const create = (
  { rest }: Fixture,
  isPut: boolean,
  body?: unknown,
  headers: Record<string, string> = showing,
): Promise<Answer> =>
  isPut ? rest('PUT', `/ehr/${randomUUID()}`, body, headers) : rest('POST', '/ehr', body, headers)

async function statusOf({ rest }: Fixture, answer: Answer) {
  const status = await rest('GET', `/ehr/${answer.body.ehr_id.value}/ehr_status`)
  assertStatuses(status, 200)
  return status.body
}

const created: ConformanceCase[] = [
  {
    cases: 16,
    does: 'creates an EHR with each combination of switches, details and an id',
    run: async (fixture) => {
      for (const isPut of [false, true])
        for (const other_details of [undefined, DETAILS[0]])
          for (const is_queryable of [true, false])
            for (const is_modifiable of [true, false]) {
              const body = subjectStatus(undefined, { is_queryable, is_modifiable, other_details })
              const answer = await create(fixture, isPut, body)
              assertStatuses(answer, 201)
              const { _type, system_id, ehr_id, time_created, ehr_status } = answer.body
              assert.deepEqual(
                [_type, ehr_status._type, ehr_status.type],
                ['EHR', 'OBJECT_REF', 'EHR_STATUS'],
              )
              assert.ok(system_id.value && ehr_id.value && time_created.value && ehr_status.namespace)
              assert.equal(ehr_status.id._type, 'OBJECT_VERSION_ID')
              const status = await statusOf(fixture, answer)
              assert.deepEqual([status.is_queryable, status.is_modifiable], [is_queryable, is_modifiable])
              assert.equal('other_details' in status, other_details !== undefined)
            }
    },
  },
  {
    does: 'creates an EHR without a body, which is queryable and modifiable',
    run: async (fixture) => {
      const answer = await create(fixture, false)
      assertStatuses(answer, 201)
      const status = await statusOf(fixture, answer)
      assert.deepEqual([status.is_queryable, status.is_modifiable], [true, true])
    },
  },
  {
    cases: 8,
    does: 'creates an EHR with other details of each structure, with and without an id',
    run: async (fixture) => {
      for (const isPut of [false, true])
        for (const other_details of DETAILS) {
          const answer = await create(fixture, isPut, subjectStatus(undefined, { other_details }))
          assertStatuses(answer, 201)
          const details = (await statusOf(fixture, answer)).other_details
          assert.equal(details.items?.length, (other_details as { items?: unknown[] }).items?.length)
        }
    },
  },
  {
    cases: 11,
    does: 'answers a creation without a representation unless the client prefers one',
    run: async (fixture) => {
      const json = { 'content-type': 'application/json' }
      const headers = [
        { 'content-type': 'application/xml' },
        { accept: 'application/json' },
        {},
        { prefer: 'nothing-known' },
        json,
        { ...json, accept: '*/*' },
        { ...json, prefer: 'return=minimal' },
        { ...asXml, prefer: 'return=minimal' },
      ]
      for (const [i, one] of headers.entries()) {
        const postAnswer = await create(fixture, false, undefined, one as Record<string, string>)
        assertStatuses(postAnswer, 201)
        assert.equal(postAnswer.body, '', `${i}`)
        assert.equal(postAnswer.headers.get('location')?.split('/').at(-1), postAnswer.etag.slice(1, -1))
      }
      for (const one of [
        json,
        { ...json, prefer: 'return=minimal' },
        { ...asXml, prefer: 'return=minimal' },
      ]) {
        const putAnswer = await create(fixture, true, undefined, one)
        assertStatuses(putAnswer, 201)
        assert.equal(putAnswer.body, '')
        assert.ok(putAnswer.headers.get('location'))
      }
    },
  },
  {
    cases: 3,
    does: 'shows the new EHR in the format of the client',
    run: async (fixture) => {
      for (const isPut of [false, true]) {
        const answer = await create(fixture, isPut, undefined, { ...asXml, ...showing })
        assertStatuses(answer, 201)
        for (const part of ['<?xml version', '<ehr_id>', '<ehr_status>'])
          assert.ok(answer.body.includes(part))
      }
      const { body } = await create(fixture, true)
      assert.ok(body.system_id.value && body.ehr_id.value && body.ehr_status.id)
    },
  },
]

const without = (name: string) => ({ ...subjectStatus(), [name]: undefined })
const subjectWith = (change: object) => ({
  ...subjectStatus(),
  subject: { external_ref: { ...subjectStatus().subject.external_ref, ...change } },
})

/** Statuses without a part that is mandatory. */
const INCOMPLETE = [
  {},
  without('_type'),
  without('subject'),
  { ...without('subject'), archetype_node_id: undefined, name: undefined },
  subjectWith({ id: { _type: 'GENERIC_ID', value: '', scheme: 'x' } }),
  subjectWith({ id: undefined }),
  subjectWith({ namespace: undefined }),
  subjectWith({ namespace: '' }),
  without('is_modifiable'),
  without('is_queryable'),
  { ...without('is_queryable'), is_modifiable: undefined },
]

const switches = (is_modifiable: unknown, is_queryable: unknown, subject: object | undefined = {}) => ({
  ...subjectStatus(),
  ...(subject && { subject }),
  is_modifiable,
  is_queryable,
})
const createSubject = () => subjectStatus().subject

const refusals: ConformanceCase[] = [
  {
    cases: 22,
    does: 'refuses a status without a mandatory part',
    run: async (fixture) => {
      for (const isPut of [false, true])
        for (const [i, status] of INCOMPLETE.entries())
          assert.equal((await create(fixture, isPut, status)).status, 400, `${i} ${isPut}`)
    },
  },
  {
    cases: 16,
    does: 'refuses switches that are empty, null or texts, and takes true and false in texts',
    run: async (fixture) => {
      for (const isPut of [false, true]) {
        for (const [first, second] of [
          ['', true],
          ['', false],
          [false, ''],
          [true, ''],
          [null, null],
          ['null', 'null'],
        ])
          assertStatuses(await create(fixture, isPut, switches(first, second, createSubject())), 400)
        for (const text of ['true', 'false'])
          assertStatuses(await create(fixture, isPut, switches(text, text, createSubject())), 201)
      }
    },
  },
  {
    cases: 13,
    does: 'takes a status whose subject is empty, and refuses a subject without a mandatory part',
    run: async (fixture) => {
      for (const [first, second] of [
        ['', true],
        [true, ''],
        ['', false],
        [false, ''],
      ])
        assertStatuses(await create(fixture, false, switches(first, second)), 400)
      for (const isPut of [false, true])
        for (const one of [true, false])
          for (const other of [true, false])
            assertStatuses(await create(fixture, isPut, switches(one, other)), 201)
      assertStatuses(await create(fixture, true, switches(true, true, {})), 201)
    },
  },
  {
    cases: 9,
    does: 'refuses an invalid or missing subject, whatever the switches are',
    run: async (fixture) => {
      for (const [first, second] of [
        [true, true],
        [true, false],
        [false, true],
        [false, false],
        [0, 1],
      ]) {
        const { external_ref } = subjectStatus().subject
        for (const faulty of [
          { ...external_ref, id: undefined },
          { ...external_ref, id: { ...external_ref.id, value: undefined } },
          { ...external_ref, namespace: undefined },
          { ...external_ref, namespace: '' },
          { ...external_ref, id: { ...external_ref.id, value: 'x'.repeat(201) } },
        ])
          assertStatuses(await create(fixture, false, switches(first, second, { external_ref: faulty })), 400)
        if (first !== 0)
          assertStatuses(
            await create(fixture, false, { ...switches(first, second), subject: undefined }),
            400,
          )
      }
    },
  },
  {
    cases: 5,
    does: 'refuses an id that is not a UUID',
    run: async ({ rest }) => {
      for (const id of ['abcdefghij', 'ab12ef34gh', '1234567890', '9876543210', '000000042'])
        assertStatuses(await rest('PUT', `/ehr/${id}`, switches(true, true)), 400)
    },
  },
  {
    cases: 2,
    does: 'refuses an id that is taken',
    run: async (fixture) => {
      const id = randomUUID()
      for (const headers of [{}, asXml]) {
        const body = headers === asXml ? undefined : subjectStatus()
        const firstAnswer = await fixture.rest(
          'PUT',
          `/ehr/${headers === asXml ? randomUUID() : id}`,
          body,
          headers,
        )
        assertStatuses(firstAnswer, 201)
        assertStatuses(
          await fixture.rest('PUT', firstAnswer.headers.get('location')!.slice(11), body, headers),
          409,
        )
      }
    },
  },
  {
    does: 'refuses a second EHR about the same subject',
    run: async (fixture) => {
      const status = subjectStatus()
      await createEhr(fixture, status)
      assertStatuses(await create(fixture, false, status), 409)
    },
  },
]

const read: ConformanceCase[] = [
  {
    cases: 2,
    does: 'shows an EHR by its id',
    run: async (fixture) => {
      const answer = await create(fixture, false, subjectStatus())
      const ehr = await fixture.rest('GET', `/ehr/${answer.body.ehr_id.value}`)
      assertStatuses(ehr, 200)
      assert.deepEqual(ehr.body, answer.body)
    },
  },
  {
    does: 'finds an EHR by its subject',
    run: async (fixture) => {
      const subject = randomUUID()
      const id = await createEhr(fixture, subjectStatus(subject))
      const ehr = await fixture.rest('GET', `/ehr?subject_id=${subject}&subject_namespace=patients`)
      assertStatuses(ehr, 200)
      assert.equal(ehr.body.ehr_id.value, id)
    },
  },
  {
    cases: 2,
    does: 'answers 404 for an unknown id and an unknown subject',
    run: async ({ rest }) => {
      assertStatuses(await rest('GET', `/ehr/${randomUUID()}`), 404)
      assertStatuses(await rest('GET', `/ehr?subject_id=${randomUUID()}&subject_namespace=patients`), 404)
    },
  },
  {
    does: 'takes a status in XML',
    cases: 0,
    run: async (fixture) => {
      const ehrStatus = { ...subjectStatus(), name: { _type: 'DV_TEXT', value: 'Status' } }
      const { external_ref } = ehrStatus.subject
      const subject = { _type: 'PARTY_SELF', external_ref: { _type: 'PARTY_REF', ...external_ref } }
      const xml = xmlOf({ ...ehrStatus, subject }, 'ehr_status')
      assertStatuses(await fixture.rest('POST', '/ehr', xml, { ...asXml, ...showing }), 201)
    },
  },
]

export const ehrArea: ConformanceArea = {
  area: 'EHR',
  cases: [...created, ...refusals, ...read],
  deviations: [
    {
      cases: 4,
      does: 'accept 0 and 1 as switches',
      because: 'The reference model has Boolean; the suite calls it a feature of the JSON library.',
    },
  ],
}
