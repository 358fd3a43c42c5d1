import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readComposition } from '../../../../openehr/compositions/read-composition.ts'
import { readTemplate } from '../../../../openehr/opt/read-template.ts'
import { type ClassName, classKindOf } from '../../../../records/kinds.ts'
import { isMeasurementKind } from '../../../../records/measurements/measurement.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { exampleBody } from '../../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../../harness/care/samples/kinds-of-each-shape.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { listCorpusFiles, readCorpusFile } from '../../../harness/corpus.ts'
import {
  createPressureComposition,
  createPressureXml,
  createTemplateXml,
  readCorpusBytes,
  sendXml,
} from '../../../harness/openehr-samples.ts'
import { createPerson, createRoleHolder, type Person } from '../../../harness/people/people.ts'
import { beforeFirstCommand } from '../../../harness/service/database-commands.ts'
import { service } from '../../../harness/service/service.ts'

const NAME = 'Ann Jansen'

describe('compositions', () => {
  let modeller: Person
  let patient: Patient
  let stranger: Person
  let nurse: Person
  let template: string
  before(async () => {
    ;[modeller, patient, stranger, nurse] = await Promise.all([
      createRoleHolder('modeller'),
      createPatient(),
      createPerson(),
      createPerson(),
    ])
    const profile = { name: { displayName: NAME } }
    assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, profile))
  })
  beforeEach(async () => {
    template = `Pressure ${randomUUID()}`
    assertStatus(await sendXml(modeller, 'POST', '/med/knowledge/template', createTemplateXml(template)), 201)
  })

  const pathOf = (more = '') => `/med/ehr/${patient.ehrId}/composition${more}`
  const add = (systolic: number, more = {}) =>
    patient.call('POST', pathOf('/json'), createPressureComposition(template, systolic, more))
  const systolicOf = (composition: ReturnType<typeof createPressureComposition>): number =>
    // biome-ignore lint/suspicious/noExplicitAny: the test reads a nested value
    (composition as any).content[0].data.events[0].data.items[0].value.magnitude

  it('are returned as sent, in JSON and in XML', async () => {
    const answer = await add(142)
    const { compositionId, uid, ehrId } = assertStatus(answer, 201)
    assert.deepEqual([ehrId, uid, answer.etag], [patient.ehrId, `${compositionId}::hrs.local::1`, `"${uid}"`])
    assert.equal(answer.headers.get('location'), pathOf(`/${compositionId}`))
    const json = assertStatus(await patient.call('GET', pathOf(`/${compositionId}/json`)))
    const { uid: version, ...rest } = json
    assert.equal(version.value, uid)
    assert.deepEqual(rest, createPressureComposition(template, 142))
    const xml: string = assertStatus(await patient.call('GET', pathOf(`/${compositionId}/xml`)))
    const second = assertStatus(
      await sendXml(patient, 'POST', pathOf('/xml'), xml.replace(/<uid.*?<\/uid>/, '')),
      201,
    )
    const { uid: other, ...same } = assertStatus(
      await patient.call('GET', pathOf(`/${second.compositionId}/json`)),
    )
    assert.deepEqual(same, rest)
    assert.equal(other.value, second.uid)
    assert.equal(
      assertStatus(await patient.call('GET', pathOf(`/${second.compositionId}/xml`))).replaceAll(
        second.uid,
        uid,
      ),
      xml,
    )
  })

  it('are rejected with all violations at once', async () => {
    const unknown = await patient.call('POST', pathOf('/json'), createPressureComposition('none', 142))
    assert.deepEqual(assertProblemPlaces(unknown, 422, 'rule-violated'), [
      'body.archetype_details.template_id.value',
    ])
    const high = createPressureComposition(template, 2000)
    Object.assign(high.content[0] as object, { archetype_node_id: 'at0009' })
    assert.deepEqual(
      assertProblemPlaces(await patient.call('POST', pathOf('/json'), high), 422, 'rule-violated'),
      ['body.content.0'],
    )
    const magnitude = 'body.content.0.data.events.0.data.items.0.value.magnitude'
    assert.deepEqual(assertProblemPlaces(await add(2000), 422, 'rule-violated'), [magnitude])
    const faulty = await add(2000, {
      category: null,
      composer: { _type: 'DV_TEXT', value: 'Ann' },
      feeling: 1,
    })
    assert.deepEqual(assertProblemPlaces(faulty, 400, 'invalid-input').sort(), [
      'body.category',
      'body.composer._type',
      magnitude,
      'body.feeling',
    ])
    const incomplete = createPressureComposition(template, 120)
    Object.assign(incomplete.content[0] as object, { data: { _type: 'HISTORY' } })
    const places = assertProblemPlaces(
      await patient.call('POST', pathOf('/json'), incomplete),
      400,
      'invalid-input',
    )
    assert.equal(new Set(places).size, places.length, places.join())
    const text = await patient.call('POST', pathOf('/json'), Buffer.from('{}'), {
      'content-type': 'text/plain',
    })
    assertProblem(text, 415, 'unsupported-media-type')
    assert.match(text.body.detail, /application\/json or application\/openehr\.wt\.flat\+json/)
    for (const xml of ['<composition/>', '<a/>', '<!DOCTYPE a><composition/>'])
      assert.equal((await sendXml(patient, 'POST', pathOf('/xml'), xml)).status, 400, xml)
  })

  it('may say that their precision is unknown, and name openEHR’s codes in their language', async () => {
    const between = `${createTemplateXml('').match(/<magnitude>(.*?)<\/magnitude>/)?.[1]}`
    const precision = `<precision>${between.replace('1000', '1')}</precision>`
    const category =
      '<attributes xsi:type="C_SINGLE_ATTRIBUTE"><rm_attribute_name>category</rm_attribute_name>' +
      '<children xsi:type="C_COMPLEX_OBJECT"><rm_type_name>DV_CODED_TEXT</rm_type_name><node_id/>' +
      '<attributes xsi:type="C_SINGLE_ATTRIBUTE"><rm_attribute_name>defining_code</rm_attribute_name>' +
      '<children xsi:type="C_CODE_PHRASE"><rm_type_name>CODE_PHRASE</rm_type_name><node_id/>' +
      '<terminology_id><value>openehr</value></terminology_id><code_list>433</code_list>' +
      '</children></attributes></children></attributes>'
    template = `Precise ${randomUUID()}`
    const xml = createTemplateXml(template)
      .replaceAll('</magnitude>', `</magnitude>${precision}`)
      .replace('<node_id>at0000</node_id>', `$&${category}`)
    assertStatus(await sendXml(modeller, 'POST', '/med/knowledge/template', xml), 201)
    const addWith = (precision: number, code: string) => {
      const defining_code = { terminology_id: { value: 'openehr' }, code_string: code }
      const sent = createPressureComposition(template, 142, {
        category: { _type: 'DV_CODED_TEXT', value: 'gebeurtenis', defining_code },
      })
      // biome-ignore lint/suspicious/noExplicitAny: the test changes a nested value
      const [{ value }] = (sent as any).content[0].data.events[0].data.items
      value.precision = precision
      return patient.call('POST', pathOf('/json'), sent)
    }
    assertStatus(await addWith(-1, '433'), 201)
    assert.deepEqual(assertProblemPlaces(await addWith(2, '431'), 422, 'rule-violated').sort(), [
      'body.category.defining_code.code_string',
      'body.content.0.data.events.0.data.items.0.value.precision',
    ])
  })

  it('are in the namespace of openEHR, or in none', async () => {
    const xml = createPressureXml(template, 120).toString()
    const namespace = 'http://schemas.openehr.org/v1'
    const create = (one: string) => sendXml(patient, 'POST', pathOf('/xml'), one)
    const prefixed = xml.replaceAll(/<(\/?)(?=[a-z])/g, '<$1v1:').replace('xmlns=', 'xmlns:v1=')
    for (const accepted of [xml, prefixed, xml.replace(`xmlns="${namespace}"`, '')])
      assertStatus(await create(accepted), 201)
    const inner = xml.replace('<category>', '<category xmlns="urn:other">')
    for (const foreign of [xml.replace(namespace, 'urn:other'), prefixed.replace(namespace, 'v2'), inner]) {
      const answer = await create(foreign)
      assert.deepEqual(assertProblem(answer, 400, 'malformed-request'), ['namespace'])
      assert.match(
        answer.body.errors[0].message,
        /must be in the namespace http:\/\/schemas\.openehr\.org\/v1/,
      )
    }
  })

  it('keep the UUID of a uid that names another system, and are versions of this one', async () => {
    const uuid = randomUUID()
    const value = `${uuid}::elsewhere.example::3`
    const { uid } = assertStatus(await add(142, { uid: { _type: 'OBJECT_VERSION_ID', value } }), 201)
    assert.equal(uid, `${uuid}::hrs.local::1`)
  })

  it('keep every version, also the deletion', async () => {
    const { compositionId, uid } = assertStatus(await add(142), 201)
    const one = pathOf(`/${compositionId}`)
    const next = createPressureComposition(template, 150)
    assertProblem(await patient.call('PUT', `${one}/json`, next), 428, 'precondition-required')
    const etag = { 'if-match': `"${uid}"` }
    const second = await patient.call('PUT', `${one}/json`, next, etag)
    assert.equal(assertStatus(second).uid, `${compositionId}::hrs.local::2`)
    const stale = await patient.call('PUT', `${one}/json`, next, etag)
    assertProblem(stale, 412, 'precondition-failed')
    assert.equal(stale.etag, second.etag)
    const foreign = { 'if-match': `"${randomUUID()}::hrs.local::2"` }
    assertProblem(await patient.call('PUT', `${one}/json`, next, foreign), 412, 'precondition-failed')
    const first = assertStatus(await patient.call('GET', `${one}/json?version_uid=${uid}`))
    assert.deepEqual(
      [systolicOf(first), systolicOf(assertStatus(await patient.call('GET', `${one}/json`)))],
      [142, 150],
    )
    assertProblem(await patient.call('DELETE', pathOf(`/${uid}`)), 409, 'conflict')
    assertStatus(await patient.call('DELETE', pathOf(`/${second.body.uid}`)), 204)
    for (const path of [one, pathOf(`/${compositionId}::hrs.local::3`)]) {
      assertProblem(await patient.call('DELETE', path), 404, 'not-found')
      assertProblem(await patient.call('GET', path), 404, 'not-found')
    }
    assert.deepEqual(
      assertStatus(await patient.call('GET', pathOf(`/${uid}`))).links,
      [],
      'of a former version',
    )
    assert.equal((await patient.call('GET', `${one}/json`)).status, 204)
    assertProblem(await patient.call('PUT', `${one}/json`, next, { 'if-match': '"3"' }), 404, 'not-found')
    assert.equal(
      systolicOf(assertStatus(await patient.call('GET', `${one}/json?version_uid=${second.body.uid}`))),
      150,
    )
    const { items } = assertStatus(await patient.call('GET', `${one}/history`))
    assert.deepEqual(
      items.map(({ action, uid, ...one }: Record<string, string>) => [
        action,
        uid?.split('::')[2],
        one.userId,
        one.userName,
      ]),
      [
        ['delete', '3', patient.mvUid, NAME],
        ['update', '2', patient.mvUid, NAME],
        ['create', '1', patient.mvUid, NAME],
      ],
    )
    const now = await patient.call('GET', `${one}/json?version_at_time=${encodeURIComponent(items[2].at)}`)
    assert.equal(systolicOf(assertStatus(now)), 142)
    assertProblem(
      await patient.call('GET', `${one}/json?version_at_time=2020-01-01T00:00:00Z`),
      404,
      'not-found',
    )
    for (const [path, place] of [
      [`${one}/json?version_uid=${uid}&version_at_time=2030-01-01T00:00:00Z`, 'query.version_at_time'],
      [pathOf(`/${uid}/json?version_at_time=2030-01-01T00:00:00Z`), 'query.version_at_time'],
      [pathOf(`/${uid}/json?version_uid=${second.body.uid}`), 'query.version_uid'],
    ] as const)
      assert.deepEqual(assertProblemPlaces(await patient.call('GET', path), 400, 'invalid-input'), [place])
  })

  it('prevent the deletion of their template while they exist', async () => {
    const { compositionId } = assertStatus(await add(142), 201)
    const place = `/med/knowledge/template/${encodeURIComponent(template)}`
    assertProblem(await modeller.call('DELETE', place), 409, 'conflict')
    assertStatus(await patient.call('DELETE', pathOf(`/${compositionId}`)), 204)
    assertStatus(await modeller.call('DELETE', place), 204)
    assertProblem(await add(142), 422, 'rule-violated')
  })

  it('never lose their template, even if it is deleted while they are being stored', async () => {
    for (let head = 0; head < 4; head++) {
      const templateId = `Pressure ${randomUUID()}`
      const place = `/med/knowledge/template/${encodeURIComponent(templateId)}`
      assertStatus(
        await sendXml(modeller, 'POST', '/med/knowledge/template', createTemplateXml(templateId)),
        201,
      )
      const storing = Array.from({ length: 8 }, (_, i) =>
        patient.call('POST', pathOf('/json'), createPressureComposition(templateId, 100 + i)),
      )
      for (let i = 0; i < head; i++) assertStatus(await modeller.call('GET', place))
      const { status } = await modeller.call('DELETE', place)
      const stored = (await Promise.all(storing)).map((answer) => answer.status)
      assert.ok(
        stored.every((one) => [201, 409, 422].includes(one)),
        String(stored),
      )
      assert.equal(status, stored.includes(201) ? 409 : 204, String(stored))
    }
  })

  it('are checked anew after another instance has deleted or replaced their template', async () => {
    const heads = service.db.collection('openehr.templates')
    await beforeFirstCommand(
      (command) => JSON.stringify(command).includes('"from":"openehr.templates"'),
      () => heads.deleteOne({ templateId: template }),
      async () => {
        const refused = await add(142)
        assertProblem(refused, 409, 'conflict')
        assert.match(refused.body.detail, /^The template was deleted meanwhile/)
      },
    )
    assertProblem(await add(142), 422, 'rule-violated')
    const xml = createTemplateXml(template)
    assertStatus(await sendXml(modeller, 'POST', '/med/knowledge/template', xml), 201)
    assertStatus(await add(142), 201)
  })

  it('are replaced by only one of several clients that saw the same version', async () => {
    const { uid, compositionId } = assertStatus(await add(142), 201)
    const replacing = Array.from({ length: 6 }, (_, i) =>
      patient.call('PUT', pathOf(`/${compositionId}/json`), createPressureComposition(template, 100 + i), {
        'if-match': `"${uid}"`,
      }),
    )
    const codes = (await Promise.all(replacing)).map(({ status }) => status).sort()
    assert.deepEqual(codes, [200, 412, 412, 412, 412, 412])
  })

  it('show their links, in both directions', async () => {
    const to = assertStatus(await add(142), 201)
    const link = {
      _type: 'LINK',
      meaning: { _type: 'DV_TEXT', value: 'follow-up' },
      type: { _type: 'DV_TEXT', value: 'issue' },
      target: { _type: 'DV_EHR_URI', value: `ehr://hrs.local/${patient.ehrId}/${to.compositionId}` },
    }
    const follow = assertStatus(await add(120, { links: [link] }), 201)
    const linkFields = { meaning: 'follow-up', type: 'issue', target: link.target.value }
    const end = { templateId: template, name: 'Encounter' }
    const outgoing = assertStatus(await patient.call('GET', pathOf(`/${follow.compositionId}`)))
    assert.deepEqual(outgoing.links, [
      { direction: 'outgoing', ...linkFields, composition: { uid: to.uid, ...end } },
    ])
    const incoming = assertStatus(await patient.call('GET', pathOf(`/${to.compositionId}`)))
    assert.deepEqual(incoming.links, [
      { direction: 'incoming', ...linkFields, composition: { uid: follow.uid, ...end } },
    ])
  })

  it('are listed without their content, the latest start first, until they are deleted', async () => {
    const owner = await createPatient()
    const path = `/med/ehr/${owner.ehrId}/composition`
    const planId = await createPlan(owner)
    const participant = await createPerson()
    await addParticipant(planId, participant, 'read')
    const stored: string[] = []
    for (const [day, query] of [
      [1, ''],
      [3, `?carePlanId=${planId}`],
      [2, `?carePlanId=${await createPlan(owner)}`],
    ] as const) {
      const composition = createPressureComposition(template, 120)
      const start_time = { _type: 'DV_DATE_TIME', value: `2026-03-0${day}T08:30:00Z` }
      const body = {
        ...composition,
        context: { ...(composition as { context?: object }).context, start_time },
      }
      stored.push(assertStatus(await owner.call('POST', `${path}/json${query}`, body), 201).compositionId)
    }
    const [first, second, third] = stored
    const namesOf = async (who: Person) => assertStatus(await who.call('GET', path)).items
    const [latest, ...others] = await namesOf(owner)
    const { updatedAt, ...entry } = latest
    assert.deepEqual(entry, {
      compositionId: second,
      uid: `${second}::hrs.local::1`,
      name: 'Encounter',
      templateId: template,
      carePlanId: planId,
      start: '2026-03-03T08:30:00.000Z',
    })
    assert.ok(Date.parse(updatedAt) > 0)
    const idsIn = (items: { compositionId: string }[]) => items.map(({ compositionId }) => compositionId)
    assert.deepEqual(idsIn(others), [third, first])
    assert.deepEqual(idsIn(await namesOf(participant)), [second, first])
    assertProblem(await stranger.call('GET', path), 404, 'not-found')
    assertStatus(await owner.call('DELETE', `${path}/${second}`), 204)
    const page = assertStatus(await owner.call('GET', `${path}?limit=1&count=true`))
    assert.deepEqual([idsIn(page.items), page.page.total], [[third], 2])
    const rest = assertStatus(await owner.call('GET', `${path}?limit=1&cursor=${page.page.next}`))
    assert.deepEqual([idsIn(rest.items), rest.page.next], [[first], null])
  })

  it('are visible to those who see the EHR, or the care plan that they belong to', async () => {
    const carePlanId = await createPlan(patient)
    await addParticipant(carePlanId, nurse, 'read')
    const inPlan = assertStatus(
      await patient.call(
        'POST',
        pathOf(`/json?carePlanId=${carePlanId}`),
        createPressureComposition(template, 142),
      ),
      201,
    )
    assertStatus(await nurse.call('GET', pathOf(`/${inPlan.compositionId}/json`)))
    const write = await nurse.call(
      'POST',
      pathOf(`/json?carePlanId=${carePlanId}`),
      createPressureComposition(template, 142),
    )
    assertProblem(write, 403, 'forbidden')
    for (const path of ['', '/json', '/xml', '/history'])
      assertProblem(await stranger.call('GET', pathOf(`/${inPlan.compositionId}${path}`)), 404, 'not-found')
    assertProblem(
      await stranger.call('POST', pathOf('/json'), createPressureComposition(template, 142)),
      404,
      'not-found',
    )
  })

  it('are created once, whatever uid they contain', async () => {
    const uid = { _type: 'HIER_OBJECT_ID', value: randomUUID() }
    assert.equal(assertStatus(await add(142, { uid }), 201).compositionId, uid.value)
    assertProblem(await add(142, { uid }), 409, 'conflict')
    const key = { 'idempotency-key': randomUUID() }
    const composition = createPressureComposition(template, 142)
    const one = await patient.call('POST', pathOf('/json'), composition, key)
    const other = await patient.call('POST', pathOf('/json'), composition, key)
    assert.equal(assertStatus(one, 201).uid, assertStatus(other, 201).uid)
    const elsewhere = await patient.call('POST', pathOf('/json?carePlanId=unknown123'), composition, key)
    assertProblem(elsewhere, 422, 'idempotency-key-reused')
  })

  it('have one UUID, in capitals or in small letters', async () => {
    const id = randomUUID()
    const inCapitals = id.toUpperCase()
    const add = (value: string) =>
      patient.call(
        'POST',
        pathOf('/json'),
        createPressureComposition(template, 142, { uid: { _type: 'HIER_OBJECT_ID', value } }),
      )
    assert.equal(assertStatus(await add(inCapitals), 201).compositionId, id)
    assertProblem(await add(id), 409, 'conflict')
    for (const path of [
      `/${inCapitals}/json`,
      `/${inCapitals}::hrs.local::1/json`,
      `/${id}/json?version_uid=${inCapitals}::hrs.local::1`,
    ])
      assert.equal(
        assertStatus(await patient.call('GET', pathOf(path))).uid.value,
        `${id}::hrs.local::1`,
        path,
      )
    const link = {
      _type: 'LINK',
      meaning: { _type: 'DV_TEXT', value: 'cause' },
      type: { _type: 'DV_TEXT', value: 'issue' },
      target: { _type: 'DV_EHR_URI', value: `ehr://${patient.ehrId}/${inCapitals}` },
    }
    const linking = createPressureComposition(template, 142, { links: [link] })
    const { uid } = assertStatus(await patient.call('POST', pathOf('/json'), linking), 201)
    const { links } = assertStatus(await patient.call('GET', pathOf(`/${inCapitals}`)))
    assert.deepEqual(
      links.map(({ direction, composition }: { direction: string; composition: { uid: string } }) => [
        direction,
        composition.uid,
      ]),
      [['incoming', uid]],
    )
    const compositions = service.db.collection<{ _id: string }>('openehr.compositions')
    const stored = await compositions.findOne({ _id: id })
    assert.ok(stored)
    // As an earlier version of the service stored it.
    await compositions.deleteOne({ _id: id })
    await compositions.insertOne({ ...stored, _id: inCapitals })
    const earlier = assertStatus(await patient.call('GET', pathOf(`/${inCapitals}/json`)))
    assert.equal(earlier.uid.value, `${inCapitals}::hrs.local::1`)
    assertStatus(
      await patient.call('PUT', pathOf(`/${inCapitals}/json`), earlier, {
        'if-match': `"${earlier.uid.value}"`,
      }),
    )
  })

  it('take no uid of anything else that AQL shows as a composition or its version', async () => {
    const carePlanId = await createPlan(patient)
    const ids = await Promise.all(
      SAMPLED_KINDS.map(classKindOf)
        .filter(isMeasurementKind)
        .map(async ({ name, path }) => {
          const body = { ...exampleBody(name as ClassName), carePlanId }
          return assertStatus(await patient.call('POST', `procedure/${path}`, body), 201).id
        }),
    )
    assert.ok(ids.length > 2)
    const uuid = randomUUID()
    for (const value of [...ids, 'abc', `${uuid}0`, `urn:uuid:${uuid}`, `${uuid}::`, `${uuid}::a::b`]) {
      const answer = await add(142, { uid: { _type: 'HIER_OBJECT_ID', value } })
      assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.uid.value'])
      assert.equal(
        answer.body.errors[0].message,
        'uid.value must be a UUID, or the uid of a version (UUID::system::1).',
      )
    }
    const { uid } = assertStatus(await patient.call('GET', `/med/ehr/${patient.ehrId}/status`))
    assertProblem(await add(142, { uid }), 409, 'conflict')
    const inCapitals = { ...uid, value: uid.value.toUpperCase() }
    assertProblem(await add(142, { uid: inCapitals }), 409, 'conflict')
  })

  it('are rejected by the rules of the reference model, with the name of the rule', async () => {
    const media = (more: object) => ({
      _type: 'DV_MULTIMEDIA',
      media_type: {
        _type: 'CODE_PHRASE',
        terminology_id: { _type: 'TERMINOLOGY_ID', value: 'IANA_media-types' },
        code_string: 'image/png',
      },
      size: 5,
      ...more,
    })
    const withMedia = (more: object) =>
      add(142, {
        feeder_audit: { originating_system_audit: { system_id: 'lab' }, original_content: media(more) },
      })
    const empty = await withMedia({})
    assert.deepEqual(assertProblemPlaces(empty, 400, 'invalid-input'), ['body.feeder_audit.original_content'])
    assert.match(empty.body.errors[0].message, /Not_empty of DV_MULTIMEDIA/)
    assertStatus(await withMedia({ data: 'aGVsbG8=' }), 201)
    assertStatus(await withMedia({ uri: { value: 'https://example.org/1.png' } }), 201)

    const withPeriod = (value: string) => {
      const composition = createPressureComposition(template, 142)
      Object.assign(composition.content[0]!.data, { period: { _type: 'DV_DURATION', value } })
      return patient.call('POST', pathOf('/json'), composition)
    }
    for (const value of ['P1.5Y2.5M', 'P1.5DT2H', 'PT1,5S', 'P1,5D']) {
      const answer = await withPeriod(value)
      assert.deepEqual(
        assertProblemPlaces(answer, 400, 'invalid-input'),
        ['body.content.0.data.period.value'],
        value,
      )
      assert.match(answer.body.errors[0].message, /a fraction only in the last part/)
    }
    for (const value of ['P1Y2M3DT4H5M6.5S', 'P1.5D', '-PT24H']) assertStatus(await withPeriod(value), 201)
  })

  it('get ids that begin with the time', async () => {
    const startTime = Date.now()
    const { compositionId } = assertStatus(await add(142), 201)
    const time = Number.parseInt(compositionId.replace('-', '').slice(0, 12), 16)
    assert.ok(startTime <= time && time <= Date.now(), compositionId)
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
  const read = (test: Mocha.Context, file: string) => readCorpusFile<Record<string, unknown>>(test, file)

  /** The status of the service's response. */
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
      // biome-ignore lint/suspicious/noExplicitAny: the test changes a nested value
      const parent = path.slice(0, -1).reduce<any>((object, name) => object[name], composition)
      if (value === '__delete__') delete parent[path.at(-1)!]
      else parent[path.at(-1)!] = value
    }
    return composition
  }

  it('get the same answers as from another server', async function () {
    let count = 0
    for (const file of listCorpusFiles(this, 'openehr/validation/cases'))
      for (const one of readCorpusFile<{ cases: Case[] }>(this, file).cases) {
        const opt = readCorpusBytes(`openehr/validation/data/templates/${one.template.split('/').at(-1)}`)
        const composition = read(this, `openehr/validation/data/compositions/${one.composition}`)
        const status = await statusOf(patched(composition, one), opt as Buffer)
        // The choice between 400 and 422 depends on the order of the checks.
        assert.equal(status === 201, one.expected === 201, `${one.name}: ${status}`)
        count++
      }
    assert.ok(count >= 90)
  })
})
