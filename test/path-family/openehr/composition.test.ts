import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readComposition } from '../../../records/openehr/compositions/reading.ts'
import { readTemplate } from '../../../records/openehr/opt/read-template.ts'
import { letIn, newPatient, newPlan, type Patient } from '../../harness/care/patients.ts'
import { ok, refused, refusedAt } from '../../harness/clients/path-client.ts'
import { corpus, corpusFiles } from '../../harness/corpus.ts'
import { corpusBytes, pressureOf, sendXml, templateXml } from '../../harness/openehr.ts'
import { newHolder, newPerson, type Person } from '../../harness/people/people.ts'

describe('compositions', () => {
  let modeller: Person
  let patient: Patient
  let stranger: Person
  let nurse: Person
  let template: string
  before(async () => {
    ;[modeller, patient, stranger, nurse] = await Promise.all([
      newHolder('modeller'),
      newPatient(),
      newPerson(),
      newPerson(),
    ])
  })
  beforeEach(async () => {
    template = `Pressure ${randomUUID()}`
    ok(await sendXml(modeller, 'POST', '/med/knowledge/template', templateXml(template)), 201)
  })

  const at = (more = '') => `/med/ehr/${patient.ehrId}/composition${more}`
  const add = (systolic: number, more = {}) =>
    patient.call('POST', at('/json'), pressureOf(template, systolic, more))
  const systolicOf = (composition: ReturnType<typeof pressureOf>): number =>
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into it
    (composition as any).content[0].data.events[0].data.items[0].value.magnitude

  it('come back as they were sent, in JSON and in XML', async () => {
    const made = await add(142)
    const { compositionId, uid, ehrId } = ok(made, 201)
    assert.deepEqual([ehrId, uid, made.etag], [patient.ehrId, `${compositionId}::hrs.local::1`, `"${uid}"`])
    assert.equal(made.headers.get('location'), at(`/${compositionId}`))
    const json = ok(await patient.call('GET', at(`/${compositionId}/json`)))
    const { uid: version, ...rest } = json
    assert.equal(version.value, uid)
    assert.deepEqual(rest, pressureOf(template, 142))
    const xml: string = ok(await patient.call('GET', at(`/${compositionId}/xml`)))
    const again = ok(await sendXml(patient, 'POST', at('/xml'), xml.replace(/<uid.*?<\/uid>/, '')), 201)
    const { uid: other, ...same } = ok(await patient.call('GET', at(`/${again.compositionId}/json`)))
    assert.deepEqual(same, rest)
    assert.equal(other.value, again.uid)
    assert.equal(
      ok(await patient.call('GET', at(`/${again.compositionId}/xml`))).replaceAll(again.uid, uid),
      xml,
    )
  })

  it('are refused with every violation at once', async () => {
    const unknown = await patient.call('POST', at('/json'), pressureOf('none', 142))
    assert.deepEqual(refusedAt(unknown, 422, 'rule-violated'), ['body.archetype_details.template_id.value'])
    const high = pressureOf(template, 2000)
    Object.assign(high.content[0] as object, { archetype_node_id: 'at0009' })
    assert.deepEqual(refusedAt(await patient.call('POST', at('/json'), high), 422, 'rule-violated'), [
      'body.content.0',
    ])
    const magnitude = 'body.content.0.data.events.0.data.items.0.value.magnitude'
    assert.deepEqual(refusedAt(await add(2000), 422, 'rule-violated'), [magnitude])
    const faulty = await add(2000, {
      category: null,
      composer: { _type: 'DV_TEXT', value: 'Ann' },
      feeling: 1,
    })
    assert.deepEqual(refusedAt(faulty, 400, 'invalid-input').sort(), [
      'body.category',
      'body.composer._type',
      magnitude,
      'body.feeling',
    ])
    for (const xml of ['<composition/>', '<a/>', '<!DOCTYPE a><composition/>'])
      assert.equal((await sendXml(patient, 'POST', at('/xml'), xml)).status, 400, xml)
  })

  it('keep every version, the deletion too', async () => {
    const { compositionId, uid } = ok(await add(142), 201)
    const one = at(`/${compositionId}`)
    const next = pressureOf(template, 150)
    refused(await patient.call('PUT', `${one}/json`, next), 428, 'precondition-required')
    const etag = { 'if-match': `"${uid}"` }
    const second = await patient.call('PUT', `${one}/json`, next, etag)
    assert.equal(ok(second).uid, `${compositionId}::hrs.local::2`)
    const stale = await patient.call('PUT', `${one}/json`, next, etag)
    refused(stale, 412, 'precondition-failed')
    assert.equal(stale.etag, second.etag)
    const foreign = { 'if-match': `"${randomUUID()}::hrs.local::2"` }
    refused(await patient.call('PUT', `${one}/json`, next, foreign), 412, 'precondition-failed')
    const first = ok(await patient.call('GET', `${one}/json?version_uid=${uid}`))
    assert.deepEqual(
      [systolicOf(first), systolicOf(ok(await patient.call('GET', `${one}/json`)))],
      [142, 150],
    )
    refused(await patient.call('DELETE', at(`/${uid}`)), 409, 'conflict')
    ok(await patient.call('DELETE', at(`/${second.body.uid}`)), 204)
    refused(await patient.call('DELETE', one), 400, 'malformed-request')
    assert.equal((await patient.call('GET', `${one}/json`)).status, 204)
    refused(await patient.call('PUT', `${one}/json`, next, { 'if-match': '*' }), 404, 'not-found')
    assert.equal(systolicOf(ok(await patient.call('GET', `${one}/json?version_uid=${second.body.uid}`))), 150)
    const { items } = ok(await patient.call('GET', `${one}/history`))
    assert.deepEqual(
      items.map(({ action, uid }: { action: string; uid: string }) => [action, uid.split('::')[2]]),
      [
        ['delete', '3'],
        ['update', '2'],
        ['create', '1'],
      ],
    )
    const now = await patient.call('GET', `${one}/json?version_at_time=${encodeURIComponent(items[2].at)}`)
    assert.equal(systolicOf(ok(now)), 142)
    refused(await patient.call('GET', `${one}/json?version_at_time=2020-01-01T00:00:00Z`), 404, 'not-found')
  })

  it('keep their template there as long as they live', async () => {
    const { compositionId } = ok(await add(142), 201)
    const place = `/med/knowledge/template/${encodeURIComponent(template)}`
    refused(await modeller.call('DELETE', place), 409, 'conflict')
    ok(await patient.call('DELETE', at(`/${compositionId}`)), 204)
    ok(await modeller.call('DELETE', place), 204)
    refused(await add(142), 422, 'rule-violated')
  })

  it('lose their template never, though it is deleted while they are stored', async () => {
    for (let head = 0; head < 4; head++) {
      const own = `Pressure ${randomUUID()}`
      const place = `/med/knowledge/template/${encodeURIComponent(own)}`
      ok(await sendXml(modeller, 'POST', '/med/knowledge/template', templateXml(own)), 201)
      const storing = Array.from({ length: 8 }, (_, i) =>
        patient.call('POST', at('/json'), pressureOf(own, 100 + i)),
      )
      for (let i = 0; i < head; i++) ok(await modeller.call('GET', place))
      const { status } = await modeller.call('DELETE', place)
      const stored = (await Promise.all(storing)).map((answer) => answer.status)
      assert.ok(
        stored.every((one) => [201, 409, 422].includes(one)),
        String(stored),
      )
      assert.equal(status, stored.includes(201) ? 409 : 204, String(stored))
    }
  })

  it('are replaced once by those who have seen the same version', async () => {
    const { uid, compositionId } = ok(await add(142), 201)
    const replacing = Array.from({ length: 6 }, (_, i) =>
      patient.call('PUT', at(`/${compositionId}/json`), pressureOf(template, 100 + i), {
        'if-match': `"${uid}"`,
      }),
    )
    const codes = (await Promise.all(replacing)).map(({ status }) => status).sort()
    assert.deepEqual(codes, [200, 412, 412, 412, 412, 412])
  })

  it('show the links that they have, in both directions', async () => {
    const to = ok(await add(142), 201)
    const link = {
      _type: 'LINK',
      meaning: { _type: 'DV_TEXT', value: 'follow-up' },
      type: { _type: 'DV_TEXT', value: 'issue' },
      target: { _type: 'DV_EHR_URI', value: `ehr://hrs.local/${patient.ehrId}/${to.compositionId}` },
    }
    const follow = ok(await add(120, { links: [link] }), 201)
    const said = { meaning: 'follow-up', type: 'issue', target: link.target.value }
    const end = { templateId: template, name: 'Encounter' }
    const outgoing = ok(await patient.call('GET', at(`/${follow.compositionId}`)))
    assert.deepEqual(outgoing.links, [
      { direction: 'outgoing', ...said, composition: { uid: to.uid, ...end } },
    ])
    const incoming = ok(await patient.call('GET', at(`/${to.compositionId}`)))
    assert.deepEqual(incoming.links, [
      { direction: 'incoming', ...said, composition: { uid: follow.uid, ...end } },
    ])
  })

  it('are seen by those who see the EHR, or the care plan that they are registered in', async () => {
    const carePlanId = await newPlan(patient)
    await letIn(carePlanId, nurse, 'read')
    const inPlan = ok(
      await patient.call('POST', at(`/json?carePlanId=${carePlanId}`), pressureOf(template, 142)),
      201,
    )
    ok(await nurse.call('GET', at(`/${inPlan.compositionId}/json`)))
    const write = await nurse.call('POST', at(`/json?carePlanId=${carePlanId}`), pressureOf(template, 142))
    refused(write, 403, 'forbidden')
    for (const path of ['', '/json', '/xml', '/history'])
      refused(await stranger.call('GET', at(`/${inPlan.compositionId}${path}`)), 404, 'not-found')
    refused(await stranger.call('POST', at('/json'), pressureOf(template, 142)), 404, 'not-found')
  })

  it('are made once, whatever uid they bring', async () => {
    const uid = { _type: 'HIER_OBJECT_ID', value: randomUUID() }
    assert.equal(ok(await add(142, { uid }), 201).compositionId, uid.value)
    refused(await add(142, { uid }), 409, 'conflict')
    const key = { 'idempotency-key': randomUUID() }
    const sent = pressureOf(template, 142)
    const [one, other] = [
      await patient.call('POST', at('/json'), sent, key),
      await patient.call('POST', at('/json'), sent, key),
    ]
    assert.equal(ok(one, 201).uid, ok(other, 201).uid)
  })

  it('get ids that begin with the time', async () => {
    const begun = Date.now()
    const { compositionId } = ok(await add(142), 201)
    const told = Number.parseInt(compositionId.replace('-', '').slice(0, 12), 16)
    assert.ok(begun <= told && told <= Date.now(), compositionId)
  })
})

interface Case {
  name: string
  template: string
  composition: string
  patch: { path: (string | number)[]; value: unknown }[]
  expected: number
}

describe('the validation cases of the corpus', () => {
  const read = (test: Mocha.Context, file: string) => corpus<Record<string, unknown>>(test, file)

  /** The status that the service answers. */
  async function statusOf(composition: unknown, bytes: Buffer): Promise<number> {
    const template = readTemplate(bytes)
    const find = async (id: string) => (id === template.templateId ? { template } : undefined)
    return readComposition({ json: composition }, find).then(
      () => 201,
      ({ status }) => status,
    )
  }

  function patched(composition: Record<string, unknown>, { patch }: Case): unknown {
    for (const { path, value } of patch) {
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into it
      const holder = path.slice(0, -1).reduce<any>((object, name) => object[name], composition)
      if (value === '__delete__') delete holder[path.at(-1)!]
      else holder[path.at(-1)!] = value
    }
    return composition
  }

  it('are answered as another server answers them', async function () {
    let count = 0
    for (const file of corpusFiles(this, 'openehr/validation/cases'))
      for (const one of corpus<{ cases: Case[] }>(this, file).cases) {
        const opt = corpusBytes(`openehr/validation/data/templates/${one.template.split('/').at(-1)}`)
        const composition = read(this, `openehr/validation/data/compositions/${one.composition}`)
        const status = await statusOf(patched(composition, one), opt as Buffer)
        // Which of 400 and 422 it is depends on what is looked at first.
        assert.equal(status === 201, one.expected === 201, `${one.name}: ${status}`)
        count++
      }
    assert.ok(count >= 90)
  })
})
