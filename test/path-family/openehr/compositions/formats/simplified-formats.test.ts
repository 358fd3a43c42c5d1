import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readComposition } from '../../../../../openehr/compositions/read-composition.ts'
import { readTemplate } from '../../../../../openehr/opt/read-template.ts'
import { fromSimplified } from '../../../../../openehr/simplified/from-simplified.ts'
import { readFlat, readStructured, toFlat } from '../../../../../openehr/simplified/simple-tree.ts'
import { toSimplified } from '../../../../../openehr/simplified/to-simplified.ts'
import { TimeSlice } from '../../../../../records/limits/time-slice.ts'
import { createPatient, type Patient } from '../../../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../../../harness/clients/path-client.ts'
import { listCorpusFiles, readCorpusFile } from '../../../../harness/corpus.ts'
import {
  createTemplateXml,
  getStoredTemplate,
  readCorpusBytes,
  sendXml,
} from '../../../../harness/openehr-samples.ts'
import { createRoleHolder } from '../../../../harness/people/people.ts'

const FLAT = 'application/openehr.wt.flat+json'
const STRUCTURED = 'application/openehr.wt.structured+json'

describe('compositions in simplified formats', () => {
  let patient: Patient
  let templateId: string
  before(async () => {
    ;[patient, templateId] = await Promise.all([createPatient(), getStoredTemplate()])
  })

  const pathOf = (more: string) => `/med/ehr/${patient.ehrId}/composition${more}`
  const send = (type: string, body: object, query = `?templateId=${encodeURIComponent(templateId)}`) =>
    patient.call('POST', pathOf(`/json${query}`), body, { 'content-type': type })
  const get = async (id: string, accept: string) =>
    assertStatus(await patient.call('GET', pathOf(`/${id}/json`), undefined, { accept }))

  const event = 'encounter/blood_pressure:0/any_event'
  const flat = {
    'ctx/language': 'en',
    'ctx/territory': 'NL',
    'ctx/composer_name': 'Anna de Vries',
    'ctx/time': '2026-03-01T08:30:00Z',
    [`${event}:0/systolic|magnitude`]: 142,
    [`${event}:0/systolic|unit`]: 'mm[Hg]',
    [`${event}:1/systolic|magnitude`]: 120,
    [`${event}:1/time`]: '2026-03-01T09:00:00Z',
  }

  it('are stored from lines, and returned as lines, as objects and in canonical JSON', async () => {
    const { compositionId: id, uid } = assertStatus(await send(FLAT, flat), 201)
    const { content, composer, context, language } = await get(id, 'application/json')
    const { origin, events } = content[0].data
    assert.deepEqual(
      [composer.name, context.start_time.value, language.code_string, origin.value],
      ['Anna de Vries', '2026-03-01T08:30:00Z', 'en', '2026-03-01T08:30:00Z'],
    )
    // biome-ignore lint/suspicious/noExplicitAny: the test reads nested values
    const values = events.map(({ time, data }: any) => [time.value, data.items[0].value])
    assert.deepEqual(values, [
      ['2026-03-01T08:30:00Z', { _type: 'DV_QUANTITY', magnitude: 142, units: 'mm[Hg]' }],
      ['2026-03-01T09:00:00Z', { _type: 'DV_QUANTITY', magnitude: 120, units: 'mm[Hg]' }],
    ])
    const lines = await get(id, FLAT)
    assert.equal(lines['encounter/_uid'], uid)
    assert.equal(lines[`${event}:1/systolic|magnitude`], 120)
    const objects = await get(id, STRUCTURED)
    assert.equal(objects.encounter.blood_pressure[0].any_event[1].systolic[0]['|magnitude'], 120)
  })

  it('keep the width and the function of interval events, in each format', async () => {
    const interval = {
      [`${event}:0|sample_count`]: 5,
      [`${event}:0/width`]: 'PT24H',
      [`${event}:0/math_function|code`]: '146',
    }
    const { compositionId: id } = assertStatus(await send(FLAT, { ...flat, ...interval }), 201)
    const composition = await get(id, 'application/json')
    const [first, second] = composition.content[0].data.events
    const { _type, width, math_function, sample_count } = first
    assert.deepEqual(
      [_type, width.value, math_function.value, sample_count, second._type],
      ['INTERVAL_EVENT', 'PT24H', 'mean', 5, 'POINT_EVENT'],
    )
    const lines = await get(id, FLAT)
    for (const [line, value] of Object.entries(interval)) assert.equal(lines[line], value, line)
    const objects = await get(id, STRUCTURED)
    assert.deepEqual(objects.encounter.blood_pressure[0].any_event[0].width, ['PT24H'])
    for (const [type, body] of [
      [FLAT, lines],
      [STRUCTURED, objects],
    ]) {
      const { 'encounter/_uid': _, ...others } = body
      if (type === STRUCTURED) delete others.encounter._uid
      const again = assertStatus(await send(type, others), 201).compositionId
      assert.deepEqual((await get(again, 'application/json')).content, composition.content)
    }
  })

  it('keep them beside the observation if its only event has no form', async () => {
    const id = `Interval ${randomUUID()}`
    const xml = createTemplateXml(id).replace(
      /(<rm_type_name>EVENT<.*?)<upper_unbounded>true<\/upper_unbounded><lower>0<\/lower>/s,
      '$1<upper_unbounded>false</upper_unbounded><lower>0</lower><upper>1</upper>',
    )
    assertStatus(
      await sendXml(await createRoleHolder('modeller'), 'POST', '/med/knowledge/template', xml),
      201,
    )
    const { [`${event}:1/time`]: _, [`${event}:1/systolic|magnitude`]: __, ...rest } = flat
    const lines = Object.fromEntries(
      Object.entries(rest).map(([line, value]) => [line.replace('/any_event:0', ''), value]),
    )
    const observation = 'encounter/blood_pressure:0'
    const more = { [`${observation}/width`]: 'PT24H', [`${observation}/math_function|code`]: '146' }
    const query = `?templateId=${encodeURIComponent(id)}`
    const { compositionId } = assertStatus(await send(FLAT, { ...lines, ...more }, query), 201)
    const composition = await get(compositionId, 'application/json')
    assert.equal(composition.content[0].data.events[0]._type, 'INTERVAL_EVENT')
    const flatComposition = await get(compositionId, FLAT)
    for (const [line, value] of Object.entries(more)) assert.equal(flatComposition[line], value, line)
  })

  it('say in which format they are', async () => {
    const { compositionId: id } = assertStatus(await send(FLAT, flat), 201)
    const reply = await patient.call('GET', pathOf(`/${id}/json`), undefined, { accept: STRUCTURED })
    assert.equal(reply.headers.get('content-type'), STRUCTURED)
    assert.match(reply.headers.get('vary') ?? '', /accept/i)
  })

  it('replace others without naming the template again', async () => {
    const { compositionId: id, uid } = assertStatus(await send(FLAT, flat), 201)
    const { encounter } = await get(id, STRUCTURED)
    encounter.blood_pressure[0].any_event[0].systolic = [{ '|magnitude': 99, '|unit': 'mm[Hg]' }]
    const headers = { 'content-type': STRUCTURED, 'if-match': `"${uid}"` }
    assertStatus(await patient.call('PUT', pathOf(`/${id}/json`), { encounter }, headers))
    assert.equal((await get(id, FLAT))[`${event}:0/systolic|magnitude`], 99)
  })

  it('are rejected with each line that means nothing, and what is missing', async () => {
    const lines = {
      ...flat,
      [`${event}:0/pulse`]: 1,
      [`${event}:0/systolic|colour`]: 'red',
      'encounter/blood_pressure:x/time': 1,
      'encounter/composer': ['Anna'],
      'vital_signs/time': '2026-03-01T08:30:00Z',
    }
    const { 'ctx/territory': _, ...rest } = lines
    assert.deepEqual(assertProblemPlaces(await send(FLAT, rest), 400, 'invalid-input').sort(), [
      `body.${event}:0/pulse`,
      `body.${event}:0/systolic|colour`,
      'body.encounter/blood_pressure:x/time',
      'body.encounter/composer',
      'body.territory',
      'body.vital_signs/time',
    ])
    const place = ['body.archetype_details.template_id.value']
    for (const query of ['', '?templateId=none'])
      for (const type of [FLAT, STRUCTURED])
        assert.deepEqual(assertProblemPlaces(await send(type, {}, query), 422, 'rule-violated'), place)
  })

  it('let others run while they are read', async () => {
    const template = readTemplate(Buffer.from(createTemplateXml(templateId)))
    const events = Array.from({ length: 5000 }, (_, i) => [`${event}:${i}/systolic|magnitude`, 142])
    const json = { ...flat, ...Object.fromEntries(events) }
    const structured = { encounter: { blood_pressure: { any_event: events.map(() => ({ systolic: 1 })) } } }
    for (const read of [
      (slice: TimeSlice) => readFlat(json, slice),
      (slice: TimeSlice) => readStructured(structured, slice),
      async (slice: TimeSlice) => {
        const { root } = await readFlat(json, new TimeSlice())
        return fromSimplified(template, root, '2026-03-01T08:30:00Z', slice)
      },
    ]) {
      let turns = 0
      const slice = new TimeSlice({ isAbandoned: () => ++turns < 0 })
      await read(slice)
      assert.ok(turns > 0)
    }
  })

  it('violate their template as others do', async () => {
    const wrong = { ...flat, [`${event}:0/systolic|unit`]: 'kg' }
    assert.deepEqual(assertProblemPlaces(await send(FLAT, wrong), 422, 'rule-violated'), [
      'body.content.0.data.events.0.data.items.0.value.units',
    ])
  })

  const templatesOf = (test: Mocha.Context) =>
    ['templates', 'aql/data/opts', 'validation/data/templates']
      .flatMap((directory) => listCorpusFiles(test, `openehr/${directory}`))
      .map((file) => readTemplate(readCorpusBytes(file) as Buffer))

  it('are read as other servers write them', async function () {
    const templates = templatesOf(this)
    for (const [file, id] of [
      ['Vitalsigns', 'EHRN Vital signs.v2'],
      ['test_all_types', 'test_all_types.en.v1'],
    ]) {
      const json = readCorpusFile<Record<string, unknown>>(this, `openehr/compositions/flat/${file}.json`)
      const listed = templates.find(({ templateId }) => templateId === id)
      assert.ok(listed, id)
      const input = { format: 'flat', json, templateId: id } as const
      const { object } = await readComposition(input, async () => ({ template: listed }))
      const output = toFlat(toSimplified(listed, object))
      for (const [line, value] of Object.entries(json)) {
        const number = line.endsWith('identifier') ? `${line}|id` : line
        const isQuotient = line.endsWith('proportion_any')
        if (!isQuotient) assert.equal(output[number] ?? output[`${line}|value`], value, line)
      }
    }
  })
})
