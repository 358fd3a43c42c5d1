import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Interaction } from '../../../fhir/sources/resource-source.ts'
import {
  type AccessFixture,
  CALLERS,
  type CallerName,
  createAccessFixture,
  type Ids,
  sampleByVerdict,
  type Verdict,
  verdictOf,
} from '../../harness/care/access-fixture.ts'
import { outcomesOf } from '../../harness/care/audit-traces.ts'
import { type Answer, call } from '../../harness/clients/path-client.ts'
import { type Json, readFhir } from '../fhir-client.ts'
import { createExamplesOfTypes, type TypeExample } from './examples-of-types.ts'

/** Types that are not data of an EHR, so that its audit has no entry. */
const OF_USERS = ['Practitioner', 'RelatedPerson', 'Subscription']

const REFUSED_OUTCOMES: Readonly<Record<string, string>> = { 404: 'denied', 403: 'refused' }

const mediaTypeOf = (method: string) =>
  method === 'PATCH' ? 'application/json-patch+json' : 'application/fhir+json'

/** A call of each interaction, and the statuses of its success. */
const CALLS: Readonly<
  Record<Interaction, (of: TypeExample, resource: Json) => { method: string; path: string; body?: unknown }>
> = {
  read: ({ type, id }) => ({ method: 'GET', path: `${type.type}/${id}` }),
  vread: ({ type, id }) => ({ method: 'GET', path: `${type.type}/${id}/_history/1` }),
  'history-instance': ({ type, id }) => ({ method: 'GET', path: `${type.type}/${id}/_history` }),
  'history-type': ({ type, query }) => ({ method: 'GET', path: `${type.type}/_history?${query}&_count=100` }),
  'search-type': ({ type, query }) => ({ method: 'GET', path: `${type.type}?${query}&_count=1000` }),
  create: ({ type }, { id: _, meta: __, ...resource }) => ({
    method: 'POST',
    path: type.type,
    body: resource,
  }),
  update: ({ type, id }, resource) => ({ method: 'PUT', path: `${type.type}/${id}`, body: resource }),
  patch: ({ type, id }) => ({
    method: 'PATCH',
    path: `${type.type}/${id}`,
    body: [{ op: 'test', path: '/resourceType', value: type.type }],
  }),
  delete: ({ type, id }) => ({ method: 'DELETE', path: `${type.type}/${id}` }),
}

const READS: readonly Interaction[] = ['read', 'vread', 'history-instance', 'history-type', 'search-type']

const rulesIn = ({ read, create, update, delete: removal }: TypeExample) => [read, create, update, removal]

/** The verdict on a caller, by the same table as in the other families. */
function expected(caller: CallerName, example: TypeExample, interaction: Interaction): Verdict {
  const rules = { ...example, patch: example.update }
  const rule = READS.includes(interaction) ? example.read : rules[interaction as 'update']
  assert.ok(rule)
  return typeof rule === 'function' ? rule(caller) : verdictOf(caller, rule)
}

describe('access to resources in FHIR', function () {
  this.timeout(120_000)
  let cast: AccessFixture
  let ids: Ids
  let examples: TypeExample[]
  before(async () => {
    cast = await createAccessFixture()
    ids = await cast.createRecords()
    examples = await createExamplesOfTypes(cast.patient, ids)
  })

  async function ask(name: CallerName, example: TypeExample, interaction: Interaction): Promise<void> {
    const verdict = expected(name, example, interaction)
    const { method, path, body } = CALLS[interaction](example, await shownOf(example))
    const requestId = randomUUID()
    const as = cast.getPerson(name)?.call ?? call
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const headers = {
      'content-type': mediaTypeOf(method),
      prefer: 'handling=lenient',
      'x-request-id': requestId,
    }
    const answer = await as(method, `/fhir/R4/${path}`, content, headers)
    const description = `${name} ${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 500)}`
    if (interaction === 'search-type' || interaction === 'history-type')
      return assertSearched(answer, example, verdictOf(name, 'ehr:read') === 404, verdict, description)
    if (verdict !== 'done') assert.equal(answer.status, verdict, description)
    // Rights are checked before the uniqueness of a key.
    else assert.ok([200, 201, 204, ...(example.isKeyed ? [409] : [])].includes(answer.status), description)
    const outcome = REFUSED_OUTCOMES[verdict]
    if (outcome && !OF_USERS.includes(example.type.type))
      assert.ok(
        (await outcomesOf(requestId)).some((one) => one.startsWith(outcome)),
        description,
      )
  }

  const shownOf = ({ type, id }: TypeExample): Promise<Json> =>
    type.interactions.includes('create') ? readFhir(cast.patient, `${type.type}/${id}`) : Promise.resolve({})

  /** A search finds what the caller may read, and for a stranger nothing at all. */
  function assertSearched(
    { status, body }: Answer,
    { id }: TypeExample,
    isStranger: boolean,
    verdict: Verdict,
    about: string,
  ) {
    if (verdict === 401 || verdict === 403) return assert.equal(status, verdict, about)
    assert.equal(status, 200, about)
    const foundIds = (body.entry ?? []).map(({ fullUrl }: Json) => fullUrl.split('/').at(-1))
    if (verdict === 'done') assert.ok(id === '' ? foundIds.length > 0 : foundIds.includes(id), about)
    else if (isStranger || id === '') assert.deepEqual(foundIds, [], about)
    else assert.ok(!foundIds.includes(id), about)
  }

  for (const interaction of Object.keys(CALLS) as Interaction[])
    it(`follows the roles at ${interaction} of every type`, async () => {
      const offering = examples.filter(({ type }) => type.interactions.includes(interaction))
      assert.ok(offering.length > 10)
      for (const example of offering) {
        const fate = (name: CallerName) => expected(name, example, interaction)
        const isNewRule =
          offering.find((one) => isDeepStrictEqual(rulesIn(one), rulesIn(example))) === example
        const asking = isNewRule ? CALLERS : sampleByVerdict(CALLERS, fate)
        const refusedNames = asking.filter((name) => fate(name) !== 'done')
        await Promise.all(refusedNames.map((name) => ask(name, example, interaction)))
        const allowedNames = asking.filter((name) => fate(name) === 'done')
        // Only the first one finds it, and the contents of plans and goals go with them.
        const deleting = interaction === 'delete'
        const isContainer = ['CarePlan', 'Goal', 'Task'].includes(example.type.type)
        for (const name of deleting ? allowedNames.slice(0, isContainer ? 0 : 1) : allowedNames)
          await ask(name, example, interaction)
      }
    })

  it('ends with the participation', async () => {
    const reader = cast.getPerson('reader')
    assert.ok(reader)
    await readFhir(reader, `CarePlan/${ids.careplanId}`)
    const path = `careplan/${ids.careplanId}/participant/${ids.participationId}`
    assert.equal((await cast.patient.call('DELETE', path)).status, 204)
    for (const example of examples.filter(({ read }) => read === 'plan:read'))
      await readFhir(reader, `${example.type.type}?${example.query}`, example.query === '' ? 404 : 200).then(
        ({ entry }) => assert.equal(entry, undefined, example.type.type),
      )
  })
})
