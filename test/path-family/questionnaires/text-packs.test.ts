import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { questionnaireDefinitionOf } from '../../../records/questionnaires/questionnaire-definition.ts'
import { neutralPacks, TextPacks } from '../../../records/questionnaires/text-packs.ts'
import { QuestionnaireDefinition, type TextPack } from '../../../schemas/questionnaires/questionnaire.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { readJsonFiles } from '../../../server/records/json-files.ts'
import { createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertProblem, assertStatus, call } from '../../harness/clients/path-client.ts'

type Json = Record<string, unknown>

describe('the definition of a questionnaire', () => {
  const pathOf = (id: string, query = '') => `/ehr/procedure/${id}/${id}.wizard.json${query}`

  it('is public: texts, options, and the address for answers', async () => {
    const dsmq = assertStatus(await call('GET', pathOf('dsmq')))
    assert.deepEqual([dsmq.id, dsmq.instrument, dsmq.language], ['dsmq', 'DSMQ', 'en'])
    assert.deepEqual([dsmq.textPack.id, dsmq.textPack.licensed], ['neutral', false])
    assert.deepEqual(dsmq.recallPeriod, { duration: 'P8W', label: 'The past 8 weeks' })
    assert.deepEqual(
      dsmq.scale.map(({ value }: Json) => value),
      [0, 1, 2, 3],
    )
    assert.equal(dsmq.notRequired.value, 'NR')
    const items = dsmq.pages.flatMap(({ items }: { items: Json[] }) => items)
    assert.deepEqual(
      items.map(({ number, code }: Json) => [number, code]),
      Array.from({ length: 16 }, (_, i) => [i + 1, `dsmq-${i + 1}`]),
    )
    assert.deepEqual(
      items.filter(({ allowNotRequired }: Json) => allowNotRequired).map(({ number }: Json) => number),
      [1, 4, 6, 10, 12],
    )
    const { submit } = dsmq
    const patient = await createPatient()
    const fill = {
      carePlanId: await createPlan(patient),
      timestamp: '2026-03-01T08:30:00Z',
      answers: Array(16).fill('NR'),
    }
    assert.deepEqual(Object.keys(submit.body), Object.keys(fill))
    assertStatus(
      await patient.call(submit.method, submit.hrefTemplate.replace('{ehrId}', patient.ehrId), fill),
      201,
    )
  })

  it('exists in Dutch, and for the other two questionnaires', async () => {
    const dutch = assertStatus(await call('GET', pathOf('dsmq', '?language=nl')))
    assert.deepEqual([dutch.language, dutch.pages[0].items[0].label], ['nl', 'Glucose meten'])
    assert.equal(assertStatus(await call('GET', pathOf('dsmq', '?language=fr'))).language, 'en')
    assertProblem(await call('GET', pathOf('dsmq', '?language=dutch')), 400, 'invalid-input')
    const acq = assertStatus(await call('GET', pathOf('acq')))
    assert.deepEqual(
      acq.pages[0].items.map(({ required }: Json) => required),
      [true, true, true, true, true, false, false],
    )
    assert.deepEqual([acq.scale.length, acq.notRequired, acq.submit.body.version], [7, null, '{version}'])
    const hads = assertStatus(await call('GET', pathOf('hads')))
    const labels = hads.pages.flatMap(({ items }: { items: Json[] }) => items.map(({ label }) => label))
    assert.deepEqual(labels.slice(0, 4), ['A-1', 'D-1', 'A-2', 'D-2'])
  })
})

describe('text packs', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'packs-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (name: string, content: unknown) =>
    writeFileSync(
      join(folder, name),
      typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
    )
  const packs = (path = folder) => new TextPacks(readJsonFiles(path, 'TEXT_PACKS'))
  const faults = (path?: string): string[] => {
    try {
      packs(path)
    } catch (error) {
      return (error as Error).message.split('\n  - ').slice(1)
    }
    return []
  }
  const options = (highest: number) =>
    Array.from({ length: highest + 1 }, (_, value) => ({ value, label: `Option ${value}` }))
  const pack = (instrument: TextPack['instrument'], items: number, highest: number): TextPack => ({
    id: 'licence-12',
    version: '2.1',
    instrument,
    language: 'en',
    licensed: true,
    notice: 'Licensed',
    title: 'A questionnaire',
    recallPeriod: 'Lately',
    scale: options(highest),
    pages: [
      {
        title: 'All',
        items: Array.from({ length: items }, (_, i) => ({ number: i + 1, label: `Question ${i + 1}` })),
      },
    ],
  })
  const dsmq = pack('DSMQ', 16, 3)
  const itemsOf = ({ pages: [page] }: TextPack) => page?.items ?? []
  const withItems = (of: TextPack, items: object[]) => ({ ...of, pages: [{ title: 'All', items }] })

  it('are built in without a fault', () => {
    assert.ok(neutralPacks.length > 0)
    assert.ok(new TextPacks(neutralPacks))
  })

  it('replace the neutral labels in their language', () => {
    write('dsmq.json', `\ufeff${JSON.stringify({ ...dsmq, notRequired: 'Does not apply' })}`)
    const printed = options(3).reverse()
    const hads = pack('HADS', 14, 3)
    write(
      'hads.json',
      withItems(
        hads,
        itemsOf(hads).map((item) => ({ ...item, scale: printed })),
      ),
    )
    write('acq-de.json', { ...pack('ACQ', 7, 6), language: 'de' })
    write('readme.txt', 'no pack')
    const textPacks = packs()
    assert.equal(textPacks.find('DSMQ', 'en').id, 'licence-12')
    assert.equal(textPacks.find('DSMQ', 'nl').id, 'neutral')
    assert.equal(textPacks.find('DSMQ', undefined).id, 'licence-12')
    assert.equal(textPacks.find('ACQ', 'fr').language, 'de')
    assert.deepEqual(
      questionnaireDefinitionOf(textPacks.find('HADS', 'en')).pages[0]?.items[0]?.scale,
      printed,
    )
    const check = createValidator(QuestionnaireDefinition)
    for (const instrument of ['ACQ', 'HADS', 'DSMQ'] as const)
      for (const language of ['en', 'nl', 'de'])
        assert.deepEqual(check(questionnaireDefinitionOf(textPacks.find(instrument, language))), [])
  })

  it('prevent the start if invalid, with file, path and missing texts named', () => {
    const [first, second, ...rest] = itemsOf(dsmq)
    write(
      'a.json',
      withItems(dsmq, [first, second, { ...rest[0], number: 2 }, ...rest.slice(1, -1)] as object[]),
    )
    write('b.json', {
      ...pack('HADS', 13, 3),
      notRequired: 'No',
      scale: [...options(2), { value: 4, label: 'x' }],
    })
    write('c.json', { ...pack('ACQ', 7, 6), licensed: 'yes', surprise: 1, notice: undefined })
    write('d.json', '{')
    write(
      'e.json',
      withItems(
        { ...dsmq, language: 'nl' },
        itemsOf(dsmq).map((one) => ({ ...one, notRequired: true })),
      ),
    )
    write('f.json', pack('DSMQ', 16, 3))
    write('g.json', [])
    write('h.json', Buffer.from(JSON.stringify({ ...dsmq, notice: 'Café' }), 'latin1'))
    const blank = itemsOf(dsmq).map((item) => (item.number === 5 ? { ...item, label: ' ' } : item))
    write('i.json', { ...withItems(dsmq, blank), language: 'de', notice: '' })
    assert.deepEqual(
      faults().map((fault) => fault.replace('TEXT_PACKS/', '').replace(/(is not valid JSON).*/, '$1')),
      [
        'a.json: pages: item 3 is missing',
        'a.json: pages: item 16 is missing',
        'a.json: pages.0.items.2.number: item 2 occurs twice',
        'b.json: pages: item 14 is missing',
        'b.json: scale: option 3 is missing',
        'b.json: scale.3.value: option 4 does not exist',
        'b.json: notRequired must be left out because the HADS has no such answer',
        'c.json: notice is required',
        'c.json: surprise is not a known property',
        'c.json: licensed must be a boolean',
        'd.json: is not valid JSON',
        'e.json: notRequired is required because pages.0.items.0 offers this option',
        'g.json: must be an object',
        'h.json: is not valid JSON',
        'i.json: notice must not be blank',
        'i.json: pages.0.items.4.label must not be blank',
        'f.json: instrument and language are the same as in TEXT_PACKS/a.json',
      ],
    )
    assert.match(faults(join(folder, 'none')).join(), /^TEXT_PACKS: cannot be read/)
  })
})
