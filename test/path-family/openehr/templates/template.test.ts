import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { readAdl } from '../../../../openehr/adl/read-adl.ts'
import { walkNodes } from '../../../../openehr/opt/constraints.ts'
import { readTemplate } from '../../../../openehr/opt/read-template.ts'
import { toWebTemplate, type WebNode } from '../../../../openehr/simplified/forms/web-template.ts'
import type { ArchetypeNode } from '../../../../schemas/openehr/template.ts'
import { createPatient } from '../../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { listCorpusFiles, readCorpusFile } from '../../../harness/corpus.ts'
import { createTemplateXml, readCorpusBytes, sendXml } from '../../../harness/openehr-samples.ts'
import { createAdmin, createPerson, createRoleHolder, type Person } from '../../../harness/people/people.ts'
import { service } from '../../../harness/service/service.ts'

const PATH = '/med/knowledge/template'

describe('operational templates', () => {
  let modeller: Person
  let reader: Person
  before(async () => {
    ;[modeller, reader] = await Promise.all([createRoleHolder('modeller'), createPerson()])
  })

  const newId = () => `Pressure ${randomUUID()}`
  const pathOf = (templateId: string) => `${PATH}/${encodeURIComponent(templateId)}`
  const upload = (xml: string | Buffer, who = modeller) => sendXml(who, 'POST', PATH, xml)

  it('are stored and deleted by modellers, and read by everybody who is logged in', async () => {
    const templateId = newId()
    const xml = createTemplateXml(templateId)
    assertProblem(await upload(xml, reader), 403, 'forbidden')
    const stored = await upload(xml)
    const { created_timestamp, ...head } = assertStatus(stored, 201)
    assert.deepEqual(head, {
      template_id: templateId,
      concept: 'Pressure',
      archetype_id: 'openEHR-EHR-COMPOSITION.encounter_of_tests.v1',
    })
    assert.equal(stored.headers.get('location'), pathOf(templateId))
    const templates: { template_id: string }[] = assertStatus(await reader.call('GET', `${PATH}?limit=1000`))
    assert.ok(templates.some(({ template_id }) => template_id === templateId))
    const original = await reader.call('GET', pathOf(templateId), undefined, { accept: 'application/xml' })
    assert.equal(assertStatus(original), xml)
    const asText = await reader.call('GET', pathOf(templateId), undefined, { accept: 'text/xml' })
    assert.equal(assertStatus(asText), xml)
    assert.equal(asText.headers.get('content-type'), 'application/xml')
    assertProblem(await reader.call('DELETE', pathOf(templateId)), 403, 'forbidden')
    assertStatus(await modeller.call('DELETE', pathOf(templateId)), 204)
    assertProblem(await reader.call('GET', pathOf(templateId)), 404, 'not-found')
    assertStatus(await upload(xml), 201)
  })

  it('are found ignoring blanks and case in their ids, and exist once', async () => {
    const templateId = newId()
    assertStatus(await upload(createTemplateXml(templateId)), 201)
    assertProblem(await upload(createTemplateXml(templateId)), 409, 'conflict')
    assertProblem(
      await upload(createTemplateXml(templateId.toUpperCase().replace(' ', '  '))),
      409,
      'conflict',
    )
    assert.equal(
      assertStatus(await reader.call('GET', pathOf(templateId.toLowerCase()))).templateId,
      templateId,
    )
    const twice = await Promise.all([0, 1].map(() => upload(createTemplateXml(`${templateId} twice`))))
    assert.deepEqual(twice.map(({ status }) => status).sort(), [201, 409])
  })

  it('are found by each name that the list shows, unless several share it', async () => {
    const concept = `Concept ${randomUUID()}`
    const shared = `Concept ${randomUUID()}`
    const templateId = newId()
    assertStatus(await upload(createTemplateXml(templateId, concept)), 201)
    const templates: Record<string, string>[] = assertStatus(await reader.call('GET', `${PATH}?limit=1000`))
    const head = templates.find(({ template_id }) => template_id === templateId)
    assert.equal(head?.concept, concept)
    for (const name of [head?.template_id ?? '', head?.concept ?? '']) {
      assert.equal(assertStatus(await reader.call('GET', pathOf(name))).templateId, templateId)
      const original = await reader.call('GET', pathOf(name), undefined, { accept: 'application/xml' })
      assert.match(assertStatus(original), new RegExp(templateId))
      assertStatus(await reader.call('GET', `${pathOf(name)}/example`))
    }
    for (const id of [newId(), newId()]) assertStatus(await upload(createTemplateXml(id, shared)), 201)
    for (const [method, path] of [
      ['GET', pathOf(shared)],
      ['GET', `${pathOf(shared)}/example`],
      ['DELETE', pathOf(shared)],
    ] as const)
      assertProblem(await modeller.call(method, path), 409, 'conflict')
    // The id of a template comes before the concept of another one.
    assertStatus(await upload(createTemplateXml(shared, 'Another')), 201)
    assert.equal(assertStatus(await reader.call('GET', pathOf(shared))).templateId, shared)
    assertStatus(await modeller.call('DELETE', pathOf(concept)), 204)
    assertProblem(await reader.call('GET', pathOf(templateId)), 404, 'not-found')
  })

  it('are shown as web templates, with the AQL path of each value', async () => {
    const templateId = newId()
    assertStatus(await upload(createTemplateXml(templateId)), 201)
    const { tree } = assertStatus(
      await reader.call('GET', pathOf(templateId), undefined, { accept: 'application/json' }),
    )
    const [observation] = tree.children
    const [event] = observation.children
    assert.deepEqual(
      [tree.id, observation.id, event.id, event.max, event.children[0].id],
      ['encounter', 'blood_pressure', 'any_event', -1, 'systolic'],
    )
    assert.equal(
      event.children[0].aqlPath,
      '/content[openEHR-EHR-OBSERVATION.pressure_of_tests.v1]/data[at0001]/events[at0002]/data[at0003]/items[at0004]/value',
    )
    assert.deepEqual(event.children[0].inputs[1].list[0].value, 'mm[Hg]')
  })

  it('are shown with choices of names, and of texts and codes', async () => {
    const templateId = newId()
    const xml = createTemplateXml(templateId)
    const [quantity = ''] = /<children xsi:type="C_DV_QUANTITY">.*?<\/children>/s.exec(xml) ?? []
    const value = (rmType: string, inner = '') =>
      `<children xsi:type="C_COMPLEX_OBJECT"><rm_type_name>${rmType}</rm_type_name><node_id/>${inner}</children>`
    const single = (name: string, child: string) =>
      `<attributes xsi:type="C_SINGLE_ATTRIBUTE"><rm_attribute_name>${name}</rm_attribute_name>${child}</attributes>`
    const codes = `<children xsi:type="C_CODE_PHRASE"><rm_type_name>CODE_PHRASE</rm_type_name><node_id/><terminology_id><value>local</value></terminology_id><code_list>at0004</code_list></children>`
    const names = `<children xsi:type="C_PRIMITIVE_OBJECT"><rm_type_name>STRING</rm_type_name><node_id/><item xsi:type="C_STRING"><list>Lying</list><list>Sitting up</list></item></children>`
    const choice = value('DV_CODED_TEXT', single('defining_code', codes)) + value('DV_TEXT')
    const nameConstraint = single('name', value('DV_TEXT', single('value', names)))
    const changed = xml
      .replace(quantity, choice)
      .replace('<node_id>at0005</node_id>', (node) => `${node}${nameConstraint}`)
    assertStatus(await upload(changed), 201)
    const { tree } = assertStatus(
      await reader.call('GET', pathOf(templateId), undefined, { accept: 'application/json' }),
    )
    const forms: WebNode[] = tree.children[0].children[0].children
    const rows = forms.map(({ id, rmType, aqlPath, inputs = [] }) => [
      id,
      rmType,
      aqlPath.replace(/^.*\/items/, ''),
      inputs.map(({ suffix }) => suffix).join(),
    ])
    assert.deepEqual(rows.slice(0, 3), [
      ['systolic', 'DV_CODED_TEXT', '[at0004]/value', 'code,other'],
      ['lying', 'DV_QUANTITY', "[at0005,'Lying']/value", 'magnitude,unit'],
      ['sitting_up', 'DV_QUANTITY', "[at0005,'Sitting up']/value", 'magnitude,unit'],
    ])
    assert.equal(forms[0]?.inputs?.[0]?.listOpen, true)
  })

  it('are shown with choices of classes, named in words', () => {
    const value = (rmType: string) =>
      `<children xsi:type="C_COMPLEX_OBJECT"><rm_type_name>${rmType}</rm_type_name><node_id/></children>`
    const xml = createTemplateXml('choices').replace(
      /<children xsi:type="C_DV_QUANTITY">.*?<\/children>/s,
      value('DV_COUNT') + value('DV_INTERVAL&lt;DV_COUNT&gt;'),
    )
    const { tree } = toWebTemplate(readTemplate(Buffer.from(xml)))
    const systolic = tree.children?.[0]?.children?.[0]?.children?.[0]
    assert.deepEqual(
      systolic?.children?.map(({ id }) => id),
      ['count_value', 'interval_of_count_value'],
    )
  })

  it('list their archetypes', async () => {
    const templateId = newId()
    assertStatus(await upload(createTemplateXml(templateId)), 201)
    const id = 'openEHR-EHR-OBSERVATION.pressure_of_tests.v1'
    const archetypes: { archetype_id: string; templates: string[] }[] = assertStatus(
      await reader.call('GET', '/med/knowledge/archetype?limit=1000'),
    )
    assert.ok(archetypes.find(({ archetype_id }) => archetype_id === id)?.templates.includes(templateId))
    const first = await reader.call('GET', '/med/knowledge/archetype?limit=1')
    const next = /^<(.*)>/.exec(first.headers.get('link') ?? '')?.[1]
    const [second] = assertStatus(await reader.call('GET', next ?? ''))
    assert.ok(second.archetype_id > assertStatus(first)[0].archetype_id)
    const { rm_type, concept, tree } = assertStatus(
      await reader.call('GET', `/med/knowledge/archetype/${id}`),
    )
    assert.deepEqual([rm_type, concept, tree.name], ['OBSERVATION', 'Blood pressure', 'Blood pressure'])
    const systolic = tree.children[0].children[0].children[0].children[0]
    assert.deepEqual(
      [systolic.name, systolic.occurrences, systolic.data_types],
      ['Systolic', '0..1', ['DV_QUANTITY']],
    )
    assertProblem(
      await reader.call('GET', '/med/knowledge/archetype/openEHR-EHR-CLUSTER.none.v1'),
      404,
      'not-found',
    )
  })

  it('are rejected with all faults, and read no external entities', async () => {
    const bare = '<template xmlns="http://schemas.openehr.org/v1"><concept/></template>'
    assert.deepEqual(assertProblemPlaces(await upload(bare), 400, 'invalid-input').sort(), [
      'body.concept',
      'body.definition',
      'body.language.code_string',
      'body.template_id.value',
    ])
    const person = createTemplateXml(newId()).replace(
      /openEHR-EHR-COMPOSITION\.\w+\.v1/,
      'openEHR-DEMOGRAPHIC-PERSON.person.v0',
    )
    assert.deepEqual(assertProblem(await upload(person), 400, 'invalid-input'), ['demographic'])
    const strange = createTemplateXml(newId()).replace('<rm_type_name>ELEMENT', '<rm_type_name>ELEPHANT')
    assert.match(String(assertProblemPlaces(await upload(strange), 400, 'invalid-input')), /rm_type_name$/)
    const entity = '<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    const nested = `${'<a>'.repeat(500)}${'</a>'.repeat(500)}`
    for (const xml of ['', 'no XML', '<template>', entity + createTemplateXml(newId()), '<t>&a;</t>', nested])
      assertProblem(await upload(xml), 400, 'malformed-request')
    for (const id of ['a/b', '.', '..'])
      assert.deepEqual(
        assertProblemPlaces(await upload(createTemplateXml(id)), 400, 'invalid-input'),
        ['body.template_id.value'],
        id,
      )
    const oet = createTemplateXml(newId()).replace('http://schemas.openehr.org/v1', 'openEHR/v1/Template')
    assert.deepEqual(assertProblem(await upload(oet), 400, 'malformed-request'), ['namespace'])
    const element = '<children><rm_type_name>ELEMENT</rm_type_name><node_id>at1</node_id></children>'
    const wide = createTemplateXml(newId()).replace(
      /(?=<children[^>]*><rm_type_name>ELEMENT)/,
      element.repeat(1001),
    )
    assert.deepEqual(assertProblemPlaces(await upload(wide), 422, 'rule-violated'), ['body.definition'])
    const utf16 = Buffer.from(`\ufeff${createTemplateXml(newId()).replace('utf-8', 'utf-16')}`, 'utf16le')
    assertStatus(await upload(utf16), 201)
    const large = await upload(`<template>${' '.repeat(8 * 1024 * 1024)}</template>`)
    assertProblem(large, 413, 'content-too-large')
  })

  it('are rejected if they expand to too much or name what the model does not have', async () => {
    const required = (xml: string, times: number) =>
      xml.replaceAll(
        /(?<=<lower>)0(?=<\/lower><\/occurrences>)|(?<=<lower>)0(?=<\/lower><upper_included>true<\/upper_included><upper>1<\/upper><\/occurrences>)/g,
        String(times),
      )
    const assertRefused = async (xml: string, code: string) => {
      const answer = await upload(xml)
      assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), [code])
      assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.definition'])
    }
    assertStatus(await upload(required(createTemplateXml(newId()), 2)), 201)
    await assertRefused(required(createTemplateXml(newId()), 1000), 'expansion')
    await assertRefused(required(createTemplateXml(newId()), 999_999_999), 'expansion')
    const label = 'x'.repeat(1_000_000)
    await assertRefused(
      createTemplateXml(newId())
        .replace('Systolic', label)

        .replace(
          /(?=<children[^>]*><rm_type_name>ELEMENT)/,
          '<children><rm_type_name>ELEMENT</rm_type_name><node_id>at0004</node_id></children>'.repeat(20),
        ),
      'expansion',
    )
    const deep = (levels: number, inner: string): string =>
      levels === 0
        ? inner
        : deep(
            levels - 1,
            `<children><rm_type_name>CLUSTER</rm_type_name><node_id>at${'1'.repeat(90)}</node_id><attributes xsi:type="C_MULTIPLE_ATTRIBUTE"><rm_attribute_name>items</rm_attribute_name>${inner}</attributes></children>`,
          )
    const element = '<children><rm_type_name>ELEMENT</rm_type_name><node_id>at1</node_id></children>'
    await assertRefused(
      createTemplateXml(newId()).replace(
        /(?=<children[^>]*><rm_type_name>ELEMENT)/,
        deep(180, element.repeat(999)),
      ),
      'expansion',
    )
    for (const [from, to] of [
      ['<rm_attribute_name>value', '<rm_attribute_name>surprise'],
      ['<node_id>at0004', '<node_id>constructor'],
      ['openEHR-EHR-OBSERVATION.pressure_of_tests.v1', '__proto__'],
    ] as const)
      await assertRefused(createTemplateXml(newId()).replaceAll(from, to), 'name')
  })

  it('remain usable if an earlier version of the service accepted them', async () => {
    const templateId = newId()
    const xml = createTemplateXml(templateId)
    assertStatus(await upload(xml), 201)
    const stored = xml
      .replace(/<language>.*?<\/language>/s, '')
      .replace('openEHR-EHR-OBSERVATION.pressure_of_tests.v1', 'openEHR-DEMOGRAPHIC-OBSERVATION.pressure.v1')
    assert.deepEqual(assertProblem(await upload(stored), 400, 'invalid-input').sort(), [
      'demographic',
      'required',
    ])
    const head = await service.db.collection('openehr.templates').findOne({ templateId })
    assert.ok(head)
    const opt = gzipSync(stored).toString('base64')
    await service.db.collection('openehr.template_files').updateOne({ _id: head._id }, { $set: { opt } })
    const webTemplate = assertStatus(
      await reader.call('GET', pathOf(templateId), undefined, { accept: 'application/json' }),
    )
    assert.deepEqual([webTemplate.defaultLanguage, webTemplate.tree.children[0].id], ['en', 'blood_pressure'])
    const example = assertStatus(await reader.call('GET', `${pathOf(templateId)}/example`))
    const patient = await createPatient()
    assertStatus(await patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, example), 201)
  })

  it('are built in for the compositions of measurements, and cannot be deleted', async () => {
    const own: { template_id: string }[] = assertStatus(await reader.call('GET', `${PATH}?limit=1000`))
    const ids = own.map(({ template_id }) => template_id)
    for (const id of ['hrs.bloodpressure.v1', 'hrs.acq.v1', 'hrs.bloodglucose.v1'])
      assert.ok(ids.includes(id), id)
    const { tree } = assertStatus(
      await reader.call('GET', pathOf('hrs.bloodpressure.v1'), undefined, { accept: 'application/json' }),
    )
    assert.equal(tree.nodeId, 'openEHR-EHR-COMPOSITION.encounter.v1')
    assertProblem(await upload(createTemplateXml('HRS.bloodpressure.v1')), 409, 'conflict')
    assertProblem(await modeller.call('DELETE', pathOf('hrs.bloodpressure.v1')), 403, 'forbidden')
    const example = assertStatus(
      await reader.call('GET', `${pathOf('hrs.bloodpressure.v1')}/example?detail_level=medium`),
    )
    const patient = await createPatient()
    assertStatus(await patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, example), 201)
    const archetype = assertStatus(
      await reader.call('GET', '/med/knowledge/archetype/openEHR-EHR-OBSERVATION.hrs_acq.v1'),
    )
    assert.deepEqual(
      [archetype.concept, archetype.templates],
      ['Asthma control questionnaire', ['hrs.acq.v1']],
    )
  })

  it('are open to users whom administrators make modellers', async () => {
    const [admin, person] = await Promise.all([createAdmin(), createPerson()])
    const account = `/auth/account/${person.mvUid}`
    assert.deepEqual(assertStatus(await admin.call('PUT', account, { roles: ['modeller'] })).roles, [
      'modeller',
    ])
    const ownAnswer = await person.call('PUT', account, { roles: ['modeller', 'admin'] })
    assertProblem(ownAnswer, 403, 'forbidden')
  })
})

describe('archetypes in ADL', () => {
  const ARCHETYPES = '/med/knowledge/archetype'
  const term = (code: string, text: string) => `["${code}"] = <text = <"${text}"> description = <"">>`
  const adlOf = (id: string, { definition = '{*}', terms = '', text = 'ünï' } = {}) =>
    `\ufeffarchetype (adl_version=1.4)\r\n\t${id}\n\nconcept\n\t[at0000]\t-- Grip strength\nlanguage\n\toriginal_language = <[ISO_639-1::en]>\ndefinition\n\tOBSERVATION[at0000] matches ${definition}\nontology\nterm_definitions = <["en"] = <items = <${term('at0000', text)}${terms}>>>\n`
  const send = (who: Person, adl: string | Buffer) =>
    who.call('POST', ARCHETYPES, Buffer.from(adl), { 'content-type': 'text/plain' })

  it('are stored by modellers, and returned unchanged', async () => {
    const [modeller, reader] = await Promise.all([createRoleHolder('modeller'), createPerson()])
    const id = `openEHR-EHR-OBSERVATION.grip_${randomUUID().slice(0, 8)}.v1`
    assertProblem(await send(reader, adlOf(id)), 403, 'forbidden')
    const answer = await send(modeller, adlOf(id))
    const head = { archetype_id: id, concept: 'Grip strength', rm_type: 'OBSERVATION', templates: [] }
    assert.deepEqual(
      [assertStatus(answer, 201), answer.headers.get('location')],
      [head, `${ARCHETYPES}/${id}`],
    )
    assertProblem(await send(modeller, adlOf(id)), 409, 'conflict')
    const archetype = assertStatus(await reader.call('GET', `${ARCHETYPES}/${id}`))
    assert.deepEqual({ ...archetype, tree: archetype.tree.name }, { ...head, tree: 'ünï' })
    assert.equal(assertStatus(await reader.call('GET', `${ARCHETYPES}/${id}/adl`)), adlOf(id).slice(1))
    const archetypes: { archetype_id: string }[] = assertStatus(
      await reader.call('GET', `${ARCHETYPES}?limit=1000`),
    )
    assert.ok(archetypes.some(({ archetype_id }) => archetype_id === id))
    assertProblem(await reader.call('DELETE', `${ARCHETYPES}/${id}`), 403, 'forbidden')
    assertStatus(await modeller.call('DELETE', `${ARCHETYPES}/${id}`), 204)
    assertProblem(await reader.call('GET', `${ARCHETYPES}/${id}/adl`), 404, 'not-found')
    assertProblem(
      await reader.call('GET', `${ARCHETYPES}/openEHR-EHR-OBSERVATION.hrs_acq.v1/adl`),
      404,
      'not-found',
    )
  })

  it('are rejected with all faults', async () => {
    const modeller = await createRoleHolder('modeller')
    assert.deepEqual(
      assertProblemPlaces(await send(modeller, 'archetype (adl_version=2.0.6)'), 400, 'invalid-input'),
      [
        'body.archetype',
        'body.archetype',
        'body.concept',
        'body.language',
        'body.definition',
        'body.ontology',
      ],
    )
    const other = adlOf('openEHR-EHR-EVALUATION.grip.v1')
    assert.deepEqual(assertProblemPlaces(await send(modeller, other), 400, 'invalid-input'), [
      'body.definition',
    ])
    const person = adlOf('openEHR-DEMOGRAPHIC-PERSON.person.v0')
    assert.deepEqual(assertProblem(await send(modeller, person), 400, 'invalid-input'), ['demographic'])
    assertProblem(await send(modeller, Buffer.from([0xff, 0xfe, 0x00])), 400, 'malformed-request')
    assertProblem(await send(modeller, 'x'.repeat(1024 * 1024 + 1)), 413, 'content-too-large')
  })

  it('are shown with their nodes; reused ones appear in their places', async () => {
    const modeller = await createRoleHolder('modeller')
    const id = `openEHR-EHR-OBSERVATION.grip_${randomUUID().slice(0, 8)}.v1`
    const definition = `{ -- Grip
      data matches {
        HISTORY[at0001] matches {
          events cardinality matches {1..*; unordered; unique} matches {
            EVENT[at0002] occurrences matches {0..*} matches { -- Any
              data matches {
                ITEM_TREE[at0003] matches {
                  items existence matches {0..1} cardinality matches {0..*} matches {
                    ELEMENT[at0004] occurrences matches {0..1} matches {
                      name matches { DV_TEXT matches { value matches {"Force"} } }
                      value matches {
                        C_DV_QUANTITY <
                          property = <[openehr::126]>
                          list = < ["1"] = < units = <"kg"> magnitude = <|0.0..<300.0|> > >
                        >
                      }
                    }
                    ELEMENT[at0005] matches {
                      value matches {
                        DV_CODED_TEXT matches { defining_code matches { [local::
                          at0006, -- Left } hand
                          at0007; at0006] } }
                        DV_TEXT matches {*}
                        0|[local::at0006], 0.5|[local::at0007]; 0.5
                        DV_DURATION matches { value matches {PYMWD/|P0D..P7D|} }
                        DV_COUNT matches { magnitude matches {|>=1|; 2} }
                      }
                    }
                    allow_archetype CLUSTER[at0008] occurrences matches {0..*} matches {
                      include archetype_id/value matches {/openEHR-EHR-CLUSTER\\.dev}ice\\.v1/}
                    }
                  }
                }
              }
            }
            POINT_EVENT[at0009] matches { data matches { use_node ITEM_TREE /data[at0001]/events[at0002]/data[at0003] } }
          }
        }
      }
    }`
    const terms = [
      term('at0004', 'Strength'),
      term('at0005', 'Hand'),
      term('at0006', 'Left'),
      term('at0007', 'Right'),
    ]
    assertStatus(await send(modeller, adlOf(id, { definition, terms: terms.join(' ') })), 201)
    const { tree } = assertStatus(await modeller.call('GET', `${ARCHETYPES}/${id}`))
    const lines = (node: ArchetypeNode, depth = 0): string[] => {
      const codes = node.codes.map(({ code, text }) => `${code} ${text}`)
      const line = [node.node_id, node.name, node.rm_type, node.occurrences, ...node.data_types, ...codes]
      return [
        `${' '.repeat(depth)}${line.join(', ')}`,
        ...node.children.flatMap((child) => lines(child, depth + 1)),
      ]
    }
    const items = [
      'at0003, , ITEM_TREE, 1..1',
      ' at0004, Force, ELEMENT, 0..1, DV_TEXT, DV_QUANTITY',
      ' at0005, Hand, ELEMENT, 1..1, DV_CODED_TEXT, DV_TEXT, DV_ORDINAL, DV_DURATION, DV_COUNT, at0006 Left, at0007 Right, at0006 Left, at0007 Right',
      ' at0008, , CLUSTER, 0..*',
    ]
    assert.deepEqual(lines(tree), [
      'at0000, ünï, OBSERVATION, 1..1',
      ' at0001, , HISTORY, 1..1',
      '  at0002, , EVENT, 0..*',
      ...items.map((line) => `   ${line}`),
      '  at0009, , POINT_EVENT, 1..1',
      ...items.map((line) => `   ${line}`),
    ])
  })

  it('are rejected with line and column if they cannot be parsed', async () => {
    const modeller = await createRoleHolder('modeller')
    const id = 'openEHR-EHR-OBSERVATION.never_stored.v1'
    const used = (count: number) =>
      Array.from({ length: count }, (_, i) =>
        i === 0
          ? 'CLUSTER[at1] matches {*}'
          : `CLUSTER[at${i + 1}] matches { items matches { ${`use_node CLUSTER /data[at${i}] `.repeat(9)} } }`,
      ).join('\n')
    const around = (inner: string) => `{ data matches { ${inner} } }`
    const cases: [definition: string, line: number, said: RegExp][] = [
      [
        '{ data matches { ELEMENT[at0001] occurs {1} } }',
        9,
        /column 63: expected an object, a value or }, found "occurs/,
      ],
      [
        '{ data matches {\n\tELEMENT[at0001] occurrences matches {many} } }',
        10,
        /expected a range such as 0\.\.1/,
      ],
      ['{ data matches { "never } }', 9, /does not end: expected "/],
      [
        '{ data matches { allow_archetype CLUSTER[at1] matches { include x matches {/never} } } }',
        9,
        /does not end: expected \//,
      ],
      ['{ data matches { C_DV_QUANTITY < list = < [1] = <1> > } }', 9, /expected a name or >/],
      [around('use_node CLUSTER /data[at0077]'), 9, /expected the path of a node/],
      [
        around('CLUSTER[at1] matches { items matches { use_node CLUSTER /data[at1] } }'),
        9,
        /more than 10000 nodes, or is deeper/,
      ],
      [around(used(9)), 10, /more than 10000 nodes/],
      [around('CLUSTER[at1] matches { items matches {'.repeat(5000)), 9, /nested deeper than 100 levels/],
      ['{*} ELEMENT', 9, /expected the end of the definition/],
    ]
    for (const [definition, line, pattern] of cases) {
      const answer = await send(modeller, adlOf(id, { definition }))
      assert.deepEqual(
        assertProblemPlaces(answer, 422, 'rule-violated'),
        ['body.definition'],
        definition.slice(0, 100),
      )
      const [violation] = (answer.body as { errors: { line: number; message: string }[] }).errors
      assert.match(violation?.message ?? '', pattern)
      assert.equal(violation?.line, line)
    }
    const open = await send(modeller, adlOf(id, { terms: '["at0001"] = <' }))
    assert.deepEqual(assertProblemPlaces(open, 422, 'rule-violated'), ['body.ontology'])
    assertProblem(await modeller.call('GET', `${ARCHETYPES}/${id}`), 404, 'not-found')
  })

  it('can be parsed if they are in the corpus', function () {
    for (const file of listCorpusFiles(this, 'openehr/archetypes')) {
      const { id, root } = readAdl(readCorpusBytes(file) as Buffer)
      assert.ok(file.includes(id), file)
      assert.ok([...walkNodes(root)].length > 1, file)
    }
  })
})

describe('the templates of the corpus', () => {
  it('are parsed, and the broken ones rejected', function () {
    for (const directory of ['templates', 'validation/data/templates', 'aql/data/opts'])
      for (const file of listCorpusFiles(this, `openehr/${directory}`))
        assert.ok(readTemplate(readCorpusBytes(file) as Buffer).templateId, file)
    for (const file of listCorpusFiles(this, 'openehr/templates-invalid'))
      assert.throws(() => readTemplate(readCorpusBytes(file) as Buffer), { name: 'ServiceError' }, file)
  })

  it('have the same web templates as from other servers', function () {
    for (const [template, file] of [
      ['Test_all_types', 'test_all_types'],
      ['example_initialassesment.v0', 'example.initialassesment'],
    ]) {
      const { tree } = readCorpusFile<{ tree: WebNode }>(this, `openehr/webtemplates/${file}.json`)
      const bytes = readCorpusBytes(`openehr/templates/${template}.opt`) as Buffer
      const ours = toWebTemplate(readTemplate(bytes))
      assert.deepEqual(formLines(ours.tree).sort(), formLines(tree).sort(), template)
    }
  })
})

/** A line for each form: its place, class, path and input fields. */
function formLines({ id, rmType, aqlPath = '', inputs = [], children = [] }: WebNode, path = ''): string[] {
  const place = `${path}/${id}`
  // Servers differ in whether they name the archetype's own terminology.
  const fields = inputs.map(({ suffix, type, list = [], listOpen = false, terminology = '' }) =>
    [suffix, type, list.map(({ value }) => value).join(), terminology.replace('local', ''), listOpen].join(
      ':',
    ),
  )
  const line = [place, rmType, aqlPath, ...fields].join(' ')
  return [line, ...children.flatMap((child) => formLines(child, place))]
}
