import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createPatient, type Patient } from '../../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPressureComposition, createTemplateXml, sendXml } from '../../../harness/openehr-samples.ts'
import { createRoleHolder } from '../../../harness/people/people.ts'

const TEMPLATES = '/med/knowledge/template'
const SNOMED = 'SNOMED Clinical Terms'

const ranges = (...names: string[]) =>
  names
    .map(
      (name) =>
        `<${name}><lower_unbounded>false</lower_unbounded><upper_unbounded>false</upper_unbounded><lower>0</lower><upper>1</upper></${name}>`,
    )
    .join('')

const attribute = (name: string, inner: string) =>
  `<attributes xsi:type="C_SINGLE_ATTRIBUTE"><rm_attribute_name>${name}</rm_attribute_name>${ranges('existence')}${inner}</attributes>`

const node = (type: string, rmType: string, inner: string) =>
  `<children xsi:type="${type}"><rm_type_name>${rmType}</rm_type_name>${ranges('occurrences')}<node_id/>${inner}</children>`

const terminologyXml = `<terminology_id><value>${SNOMED}</value></terminology_id>`
const codes = `${terminologyXml}<code_list>33586001</code_list><code_list>10904000</code_list>`
const codedXml = (inner: string) =>
  node(
    'C_COMPLEX_OBJECT',
    'DV_CODED_TEXT',
    attribute('defining_code', node('C_CODE_PHRASE', 'CODE_PHRASE', inner)),
  )
const POSITION = codedXml(codes)
const ORDINALS = [0, 0.5]
  .map(
    (value, i) =>
      `<list><value>${value}</value><symbol><value/><defining_code><terminology_id><value>local</value></terminology_id><code_string>at000${i + 4}</code_string></defining_code></symbol></list>`,
  )
  .join('')

/** The template of the tests with another constraint on the value of the second element. */
const templateWith = (templateId: string, constraint: string) =>
  createTemplateXml(templateId)
    .replace(
      /(at0005<\/node_id>.*?)<children xsi:type="C_DV_QUANTITY">.*?<\/list><\/children>/s,
      `$1${constraint}`,
    )
    .replace(
      '<term_definitions code="at0000"><items id="text">Blood',
      `<term_definitions code="${SNOMED}::33586001"><items id="text">Sitting position</items></term_definitions>$&`,
    )

describe('texts of codes', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
  })

  async function store(constraint: string): Promise<string> {
    const templateId = `Position ${randomUUID()}`
    const modeller = await createRoleHolder('modeller')
    assertStatus(await sendXml(modeller, 'POST', TEMPLATES, templateWith(templateId, constraint)), 201)
    return templateId
  }

  const commit = (templateId: string, value: object) => {
    const composition = createPressureComposition(templateId, 120)
    const { items } = composition.content[0]!.data.events[0]!.data as { items: object[] }
    const name = { _type: 'DV_TEXT', value: 'Diastolic' }
    items.push({ _type: 'ELEMENT', archetype_node_id: 'at0005', name, value })
    return patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, composition)
  }
  const coded = (value: string, code_string: string) => ({
    _type: 'DV_CODED_TEXT',
    value,
    defining_code: {
      _type: 'CODE_PHRASE',
      terminology_id: { _type: 'TERMINOLOGY_ID', value: SNOMED },
      code_string,
    },
  })

  it('come from the template if they belong to other terminologies', async () => {
    const templateId = await store(POSITION)
    const path = `${TEMPLATES}/${encodeURIComponent(templateId)}`
    const { tree } = assertStatus(await patient.call('GET', path, undefined, { accept: 'application/json' }))
    const [, position] = tree.children[0].children[0].children
    assert.deepEqual(
      position.inputs[0].list.map(({ value, label }: Record<string, string>) => [value, label]),
      [
        ['33586001', 'Sitting position'],
        ['10904000', '10904000'],
      ],
    )
    const example = assertStatus(await patient.call('GET', `${path}/example?detail_level=medium`))
    assert.match(JSON.stringify(example), /"value":"Sitting position"/)
    assertStatus(await commit(templateId, coded('Sitting position', '33586001')), 201)
    assertStatus(await commit(templateId, coded('Upright', '10904000')), 201)
    const refusal = await commit(templateId, coded('Standing', '33586001'))
    assert.deepEqual(assertProblemPlaces(refusal, 422, 'rule-violated'), [
      'body.content.0.data.events.0.data.items.1.value.value',
    ])
    assert.match(refusal.body.errors[0].message, /must be Sitting position/)
  })

  it('may belong to any code of a terminology without a list, but to no other terminology', async () => {
    const templateId = await store(codedXml(terminologyXml))
    for (const [terminology, status] of [
      [SNOMED, 201],
      [`${SNOMED}(2026)`, 201],
      ['LOINC', 422],
      ['local', 422],
    ] as const) {
      const value = coded('Sitting', '33586001')
      value.defining_code.terminology_id.value = terminology
      const response = await commit(templateId, value)
      assertStatus(response, status)
      if (status === 422)
        assert.deepEqual(assertProblemPlaces(response, 422, 'rule-violated'), [
          'body.content.0.data.events.0.data.items.1.value.defining_code.terminology_id.value',
        ])
    }
  })

  it('are the rubrics of openEHR for its own codes', async () => {
    const path = `${TEMPLATES}/hrs.bloodpressure.v1`
    const { tree } = assertStatus(await patient.call('GET', path, undefined, { accept: 'application/json' }))
    const category = tree.children.find(({ id }: { id: string }) => id === 'category')
    assert.deepEqual(
      category.inputs[0].list.map(({ value, label }: Record<string, string>) => [value, label]),
      [['433', 'event']],
    )
  })

  it('belong to ordinals, which may be fractions if the template lists them', async () => {
    const listed = await store(node('C_DV_ORDINAL', 'DV_ORDINAL', ORDINALS))
    const open = await store(node('C_COMPLEX_OBJECT', 'DV_ORDINAL', ''))
    const local = (code: string, text: string) => {
      const { defining_code, ...symbol } = coded(text, code)
      return { ...symbol, defining_code: { ...defining_code, terminology_id: { value: 'local' } } }
    }
    const half = { _type: 'DV_ORDINAL', value: 0.5, symbol: local('at0005', 'Diastolic') }
    assertStatus(await commit(listed, half), 201)
    const places = assertProblemPlaces(await commit(open, half), 422, 'rule-violated')
    assert.deepEqual(places, ['body.content.0.data.events.0.data.items.1.value.value'])
    assertStatus(await commit(open, { ...half, value: 1 }), 201)
  })
})
