import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import {
  createPressureComposition,
  createPressuresComposition,
  getStoredTemplate,
  OBSERVATION_WITH_DEVICE,
} from '../../../harness/openehr-samples.ts'
import { createPerson, createRoleHolder, type Person } from '../../../harness/people/people.ts'

const OBSERVATION = 'OBSERVATION o[openEHR-EHR-OBSERVATION.pressure_of_tests.v1]'
const SYSTOLIC = 'o/data[at0001]/events[at0002]/data[at0003]/items[at0004]/value/magnitude'

describe('AQL', () => {
  let template: string
  let patient: Patient
  let plan: string
  const uids: string[] = []
  before(async () => {
    ;[template, patient] = await Promise.all([getStoredTemplate(), createPatient()])
    plan = await createPlan(patient)
    for (const [systolic, more] of [
      [118, ''],
      [142, `?carePlanId=${plan}`],
      [185, ''],
    ] as const)
      uids.push(assertStatus(await add(patient, systolic, more), 201).uid)
  })

  const add = (by: Patient, systolic: number, more = '') =>
    by.call(
      'POST',
      `/med/ehr/${by.ehrId}/composition/json${more}`,
      createPressureComposition(template, systolic),
    )
  const ask = (by: Person, q: string, more: object = {}) => by.call('POST', '/med/aql', { q, ...more })
  const rowsOf = async (by: Person, q: string, more: object = {}) => assertStatus(await ask(by, q, more)).rows
  const values = `SELECT ${SYSTOLIC} AS systolic FROM EHR e CONTAINS ${OBSERVATION} ORDER BY systolic`

  it('returns rows as JSON and as CSV, by POST and by a link', async () => {
    const q = `SELECT c/uid/value, ${SYSTOLIC} AS systolic FROM EHR e[ehr_id/value=$ehr] CONTAINS COMPOSITION c CONTAINS ${OBSERVATION} WHERE ${SYSTOLIC} >= 140 ORDER BY ${SYSTOLIC} DESC`
    const query_parameters = { ehr: patient.ehrId }
    const answer = assertStatus(await ask(patient, q, { query_parameters }))
    assert.deepEqual(answer.rows, [
      [uids[2], 185],
      [uids[1], 142],
    ])
    assert.deepEqual(answer.columns, [
      { name: '#0', path: 'c/uid/value' },
      { name: 'systolic', path: SYSTOLIC },
    ])
    assert.deepEqual([answer.q, answer.meta._type, answer.meta._executed_aql], [q, 'RESULTSET', q])
    const link = `/med/aql?${new URLSearchParams({ q, query_parameters: JSON.stringify(query_parameters) })}`
    assert.deepEqual(assertStatus(await patient.call('GET', link)).rows, answer.rows)
    const csv = await patient.call('POST', '/med/aql', { q, query_parameters }, { accept: 'text/csv' })
    assert.equal(csv.headers.get('content-type'), 'text/csv')
    assert.equal(csv.body, `#0,systolic\r\n${uids[2]},185\r\n${uids[1]},142\r\n`)
  })

  it('returns no text in CSV that a spreadsheet would take for a formula', async () => {
    const rows = [
      ['=1+1', "'=1+1"],
      ['@x', "'@x"],
      ['+31 6 1234', "'+31 6 1234"],
      ['-2-3', "'-2-3"],
      ['a;=1+1', '"a;=1+1"'],
      ['a=1', 'a=1'],
    ]
    const columns = rows.map(([text], i) => `'${text}' AS c${i}`).join(', ')
    const q = `SELECT ${columns}, -5 AS number FROM EHR e[ehr_id/value='${patient.ehrId}']`
    const csv = await patient.call('POST', '/med/aql', { q }, { accept: 'text/csv' })
    const [, line] = String(assertStatus(csv)).split('\r\n')
    assert.equal(line, [...rows.map(([, cell]) => cell), '-5'].join())
    assert.deepEqual(await rowsOf(patient, q), [[...rows.map(([text]) => text), -5]])
  })

  it('returns a page of very many rows with equal values', async () => {
    const other = await createPatient()
    const observation = { archetype: 'openEHR-EHR-OBSERVATION.pressure_of_tests.v1', event: 'at0002' }
    const composition = createPressuresComposition(template, observation, Array(40).fill([120, 80]))
    assertStatus(await other.call('POST', `/med/ehr/${other.ehrId}/composition/json`, composition), 201)
    const elements = Array.from({ length: 4 }, (_, i) => `ELEMENT x${i}`).join(' AND ')
    const from = `FROM EHR e CONTAINS ${OBSERVATION} CONTAINS (${elements})`
    assert.deepEqual(await rowsOf(other, `SELECT COUNT(*) ${from}`), [[80 ** 4]])
    const q = `SELECT o/name/value AS name ${from} ORDER BY name LIMIT 2 OFFSET 200000`
    const [[name]] = await rowsOf(other, `SELECT o/name/value FROM ${OBSERVATION}`)
    assert.deepEqual(await rowsOf(other, q), [[name], [name]])
  })

  it('orders by a second path as many rows as are equal by the first', async () => {
    const other = await createPatient()
    const carePlanId = await createPlan(other)
    const items = Array.from({ length: 60 }, (_, i) => ({
      kind: 'bloodpressure',
      carePlanId,
      timestamp: '2026-03-01T08:30:00Z',
      systolic: 150,
      systolicUnit: 'mm[Hg]',
      diastolic: 140 - i,
      diastolicUnit: 'mm[Hg]',
    }))
    assertStatus(await other.call('POST', 'procedure/batch', { items }))
    const diastolic = 'o/data[at0001]/events[at0006]/data[at0003]/items[at0005]/value/magnitude'
    const from = 'FROM COMPOSITION c CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'
    const q = `SELECT ${diastolic} AS d ${from} ORDER BY c/context/start_time, d LIMIT 2`
    assert.deepEqual(await rowsOf(other, q), [[81], [82]])
  })

  it('does not distinguish upper and lower case in variables and aliases', async () => {
    const q = `SELECT C/uid/value, ${SYSTOLIC} AS Systolic FROM EHR e CONTAINS COMPOSITION c CONTAINS ${OBSERVATION} WHERE E/ehr_id/value = '${patient.ehrId}' ORDER BY SYSTOLIC DESC`
    assert.deepEqual((await rowsOf(patient, q))[0], [uids[2], 185])
    const twice = 'SELECT c FROM EHR e CONTAINS COMPOSITION c CONTAINS OBSERVATION C'
    assertProblem(await ask(patient, twice), 400, 'invalid-input')
  })

  it('returns the date and time in the forms of the specification, and compares with them', async () => {
    const ehr = `FROM EHR e[ehr_id/value='${patient.ehrId}']`
    const functions = ['CURRENT_DATE', 'CURRENT_TIME', 'CURRENT_DATE_TIME', 'NOW', 'current_timezone']
    const [row] = await rowsOf(patient, `SELECT ${functions.map((one) => `${one}()`).join(', ')} ${ehr}`)
    const [date, time, dateTime, now, zone] = row
    assert.match(dateTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/)
    assert.deepEqual([date, time, zone], [dateTime.slice(0, 10), dateTime.slice(11, 19), '+00:00'])
    assert.equal(now, dateTime)
    const created = 'e/time_created/value'
    for (const [condition, count] of [
      [`${created} <= NOW()`, 1],
      [`${created} > current_date_time()`, 0],
      [`NOW() < ${created}`, 0],
      [`${created} >= CURRENT_DATE() OR ${created} < CURRENT_DATE()`, 1],
      [`CURRENT_DATE() = '${date}' OR CURRENT_DATE() > '${date}'`, 1],
      ["CURRENT_TIME() >= '00:00:00' AND CURRENT_TIME() < '24:00:00'", 1],
      [`CURRENT_DATE_TIME() = NOW()`, 1],
    ] as const)
      assert.equal((await rowsOf(patient, `SELECT e/ehr_id/value ${ehr} WHERE ${condition}`)).length, count)
    const bare = await ask(patient, `SELECT e/ehr_id/value ${ehr} WHERE ${created} < NOW`)
    assertProblem(bare, 400, 'invalid-input')
    assert.match(bare.body.errors[0].message, /NOW/)
  })

  it('reads terms with their text, numbers that begin with the point, and returns its zone', async () => {
    const above = `SELECT ${SYSTOLIC} AS systolic FROM EHR e CONTAINS ${OBSERVATION} WHERE ${SYSTOLIC} > .5 ORDER BY systolic`
    assert.deepEqual(await rowsOf(patient, above), await rowsOf(patient, values))
    const path = 'o/data/events/data/items[at0004, icd10AM::F60.1|Schizoid personality disorder|]/value'
    assertStatus(await ask(patient, `SELECT ${path} AS found FROM EHR e CONTAINS ${OBSERVATION}`))
    const zone = `SELECT CURRENT_TIMEZONE() AS zone FROM EHR e[ehr_id/value='${patient.ehrId}']`
    assert.deepEqual(await rowsOf(patient, zone), [['+00:00']])
  })

  it('is answered page by page', async () => {
    const first = assertStatus(await ask(patient, values, { fetch: 2 }))
    assert.deepEqual([first.rows, first.meta.next_offset], [[[118], [142]], 2])
    const second = assertStatus(await ask(patient, values, { fetch: 2, offset: 2 }))
    assert.deepEqual([second.rows, second.meta.next_offset], [[[185]], undefined])
    assert.deepEqual(await rowsOf(patient, `${values} LIMIT 1 OFFSET 1`), [[142]])
    assert.deepEqual(
      await rowsOf(patient, `${values.replace(SYSTOLIC, SYSTOLIC.replace('magnitude', '_type'))} LIMIT 1`),
      [['DV_QUANTITY']],
    )
    assert.deepEqual(await rowsOf(patient, `${values} LIMIT 1 OFFSET 9007199254740991`), [])
    for (const top of ['TOP 2', 'top 2 forward'])
      assert.deepEqual(await rowsOf(patient, values.replace('SELECT', `SELECT ${top}`)), [[118], [142]])
    for (const limited of [`${values} LIMIT 1`, values.replace('SELECT', 'SELECT TOP 1')])
      assertProblemPlaces(await ask(patient, limited, { fetch: 1 }), 422, 'rule-violated')
  })

  it('is refused with line, column and the expected tokens', async () => {
    const deep = `SELECT a FROM EHR a ${'CONTAINS SECTION '.repeat(200)}`
    const cases: [q: string, line: number, column: number, expected: RegExp, parameters?: object][] = [
      ['SELECT e\nFORM EHR e', 2, 1, /expected FROM, found "FORM"/],
      ['SELECT x FROM EHR e', 1, 8, /"x" is not a variable of FROM, which has e\./],
      ['SELECT e FROM PATIENT e', 1, 15, /"PATIENT" is not a class of the reference model/],
      ["SELECT e FROM EHR e WHERE e/a = 'b", 1, 33, /expected '/],
      ['SELECT e FROM EHR e WHERE e/a matches {}', 1, 40, /expected a value/],
      ['SELECT e FROM EHR e WHERE e/a = $b', 1, 33, /query_parameters has no value for \$b/],
      ['SELECT e FROM EHR e WHERE e/a = $b', 1, 33, /\$b must be .*, not a list/, { b: [1] }],
      [
        "SELECT e FROM EHR e WHERE e/a matches {TERMINOLOGY('a','b','c')}",
        1,
        40,
        /TERMINOLOGY is not supported/,
      ],
      [
        "SELECT e FROM EHR e WHERE e/a matches TERMINOLOGY('a','b','c')",
        1,
        39,
        /TERMINOLOGY is not supported/,
      ],
      [
        'SELECT e FROM EHR e WHERE e/a matches {terminology://a}',
        1,
        51,
        /URIs of terminologies are not supported/,
      ],
      ['SELECT e/a[name/value matches {/a.*/}] FROM EHR e', 1, 31, /regular expressions are not supported/],
      [`SELECT e FROM EHR e WHERE e/a LIKE '${'*a'.repeat(600)}'`, 1, 36, /at most 1000 characters/],
      ['SELECT e FROM EHR e LIMIT 1e3', 1, 27, /the number of rows/],
      ['SELECT TOP 1 BACKWARD e FROM EHR e', 1, 14, /BACKWARD is not supported: use ORDER BY/],
      ['SELECT TOP 1 e FROM EHR e LIMIT 1', 1, 27, /TOP and LIMIT exclude each other/],
      [deep, 1, 710, /nested deeper/],
    ]
    for (const [q, line, column, expected, query_parameters = {}] of cases) {
      const answer = await ask(patient, q, { query_parameters })
      assertProblem(answer, 400, 'invalid-input')
      const [fault] = answer.body.errors
      assert.deepEqual([fault.path, fault.line, fault.column], ['body.q', line, column], q.slice(0, 100))
      assert.match(fault.message, expected)
    }
  })

  it('is refused if it is longer than 64 KB', async () => {
    const answer = await ask(patient, `SELECT e FROM EHR e WHERE ${' '.repeat(70_000)}`)
    assertProblem(answer, 400, 'invalid-input')
    assert.equal(answer.body.detail, 'The query is longer than 64 KB.')
    assert.deepEqual(answer.body.errors, [
      { path: 'body.q', code: 'maxLength', message: 'q is longer than 64 KB.' },
    ])
  })

  it('shows callers the data that they may read, and analysts all data', async () => {
    const [nurse, stranger, analyst] = await Promise.all([
      createPerson(),
      createPerson(),
      createRoleHolder('analyst'),
    ])
    const other = await createPatient()
    await addParticipant(plan, nurse, 'read')
    assertStatus(await add(other, 99), 201)
    const ownQuery = `SELECT ${SYSTOLIC} FROM EHR e[ehr_id/value='${patient.ehrId}'] CONTAINS ${OBSERVATION}`
    const sorted = async (by: Person) => (await rowsOf(by, ownQuery)).flat().sort()
    assert.deepEqual(await sorted(stranger), [])
    assert.deepEqual(await sorted(nurse), await sorted(patient))
    assert.deepEqual(await sorted(analyst), [118, 142, 185])
    const countQuery = `SELECT COUNT(DISTINCT e/ehr_id/value) FROM EHR e CONTAINS ${OBSERVATION} WHERE e/ehr_id/value matches {$ehrs}`
    const query_parameters = { ehrs: [patient.ehrId, other.ehrId] }
    assert.deepEqual(await rowsOf(patient, countQuery, { query_parameters }), [[1]])
    assert.deepEqual(await rowsOf(analyst, countQuery, { query_parameters }), [[2]])
    const counting = `SELECT COUNT(*) FROM EHR e CONTAINS ${OBSERVATION}`
    assert.ok((await rowsOf(analyst, counting))[0][0] >= 4)
    const auditEntries = assertStatus(await other.call('GET', `/ehr/${other.ehrId}/audit?limit=50`)).items
    const entries = auditEntries.filter(({ userId }: { userId: string }) => userId === analyst.mvUid)
    assert.equal(entries.length, 2)
    assert.match(entries[0].asked, /^aql: SELECT COUNT \( \* \)/)
    assert.match(entries[1].asked, /^aql: SELECT COUNT \( DISTINCT e/)
    assertStatus(await other.call('DELETE', `/med/ehr/${other.ehrId}`), 204)
    assert.deepEqual(await rowsOf(analyst, countQuery, { query_parameters }), [[1]])
    const ownEntries: { asked?: string }[] = assertStatus(
      await patient.call('GET', `/ehr/${patient.ehrId}/audit?limit=100`),
    ).items
    const queries = ownEntries.flatMap(({ asked }) => (asked?.startsWith('aql: ') ? asked : []))
    // Without the values of the query.
    assert.ok(queries.some((query) => query.includes('ehr_id / value = ?')))
    assert.ok(!queries.join().includes(patient.ehrId))
  })

  it('reads former versions, deletions and the status of the EHR', async () => {
    const other = await createPatient()
    const { uid, compositionId } = assertStatus(await add(other, 120), 201)
    const one = `/med/ehr/${other.ehrId}/composition/${compositionId}`
    assertStatus(
      await other.call('PUT', `${one}/json`, createPressureComposition(template, 130), {
        'if-match': `"${uid}"`,
      }),
    )
    const versions = (which: string) =>
      `SELECT v/uid/value, ${SYSTOLIC} FROM EHR e CONTAINS VERSION v${which} CONTAINS COMPOSITION c CONTAINS ${OBSERVATION} ORDER BY ${SYSTOLIC}`
    const second = uid.replace(/1$/, '2')
    assert.deepEqual(await rowsOf(other, versions('[LATEST_VERSION]')), [[second, 130]])
    assert.deepEqual(await rowsOf(other, versions('[ALL_VERSIONS]')), [
      [uid, 120],
      [second, 130],
    ])
    assert.deepEqual(await rowsOf(other, versions(`[uid/value = '${uid}']`)), [[uid, 120]])
    assertStatus(await other.call('DELETE', one), 204)
    const states =
      'SELECT v/lifecycle_state/value, v/commit_audit/change_type/value FROM EHR e CONTAINS VERSION v[ALL_VERSIONS] WHERE v/lifecycle_state/value = $s'
    assert.deepEqual(await rowsOf(other, states, { query_parameters: { s: 'deleted' } }), [
      ['deleted', 'deleted'],
    ])
    assert.deepEqual(await rowsOf(other, 'SELECT c FROM COMPOSITION c'), [])
    const status = 'SELECT s/subject/external_ref/id/value, s/is_queryable FROM EHR e CONTAINS EHR_STATUS s'
    assert.deepEqual(await rowsOf(other, status), [[other.mvUid, true]])
  })

  it('finds a node by its at-code only in its own archetype', async () => {
    const [other, withDevice] = await Promise.all([
      createPatient(),
      getStoredTemplate(OBSERVATION_WITH_DEVICE),
    ])
    const composition = createPressuresComposition(withDevice, OBSERVATION_WITH_DEVICE, [[120], [130]])
    assertStatus(await other.call('POST', `/med/ehr/${other.ehrId}/composition/json`, composition), 201)
    const values = async (contained: string) => {
      const q = `SELECT n/name/value, n/value/magnitude FROM ${OBSERVATION} CONTAINS ${contained} ORDER BY n/value/magnitude`
      return rowsOf(other, q)
    }
    const systolic = [
      ['Systolic', 120],
      ['Systolic', 130],
    ]
    const cuff = ['Cuff pressure', 1]
    const device = 'CLUSTER d[openEHR-EHR-CLUSTER.device_of_tests.v1]'
    assert.deepEqual(await values('ELEMENT n[at0004]'), systolic)
    assert.deepEqual(await values('ITEM_TREE t[at0003] CONTAINS ELEMENT n[at0004]'), systolic)
    assert.deepEqual(await values(`${device} CONTAINS ELEMENT n[at0004]`), [cuff, cuff])
    const any = `SELECT COUNT(*) FROM OBSERVATION o CONTAINS ELEMENT n[at0004]`
    assert.deepEqual(await rowsOf(other, any), [[4]])
    const without = `SELECT COUNT(*) FROM ${OBSERVATION} CONTAINS CLUSTER d NOT CONTAINS ELEMENT n[at0004]`
    assert.deepEqual(await rowsOf(other, without), [[0]])
  })

  it('makes no row of an event without a value, unless another column has one there', async () => {
    const other = await createPatient()
    const observation = { archetype: 'openEHR-EHR-OBSERVATION.pressure_of_tests.v1', event: 'at0002' }
    const composition = createPressuresComposition(template, observation, [[120, 80], [130], [140, 90]])
    const path = `/med/ehr/${other.ehrId}/composition/json`
    assertStatus(await other.call('POST', path, composition), 201)
    const diastolic = SYSTOLIC.replace('at0004', 'at0005')
    const from = `FROM ${OBSERVATION}`
    assert.deepEqual(await rowsOf(other, `SELECT ${diastolic} AS d ${from} ORDER BY d`), [[80], [90]])
    assert.deepEqual(await rowsOf(other, `SELECT ${diastolic} AS d ${from} ORDER BY d LIMIT 1 OFFSET 1`), [
      [90],
    ])
    assert.deepEqual(await rowsOf(other, `SELECT COUNT(*), COUNT(${diastolic}) ${from}`), [[2, 2]])
    assert.deepEqual(await rowsOf(other, `SELECT ${SYSTOLIC} AS s, ${diastolic} AS d ${from} ORDER BY s`), [
      [120, 80],
      [130, null],
      [140, 90],
    ])
    assertStatus(
      await other.call('POST', path, createPressuresComposition(template, observation, [[150]])),
      201,
    )
    assert.deepEqual(await rowsOf(other, `SELECT DISTINCT o/name/value ${from} LIMIT 5 OFFSET 1`), [])
    assert.deepEqual(await rowsOf(other, `SELECT COUNT(*) ${from} WHERE ${diastolic} != 80`), [[1]])
    assert.deepEqual(await rowsOf(other, `SELECT COUNT(*) ${from} WHERE NOT ${SYSTOLIC} < 'text'`), [[4]])
    assert.deepEqual(await rowsOf(other, `SELECT ${diastolic} AS d ${from} ORDER BY d DESC`), [
      [null],
      [90],
      [80],
    ])
  })

  it('explains its plan', async () => {
    const plan = assertStatus(await patient.call('POST', '/med/aql/explain', { q: values }))
    assert.deepEqual(
      [plan.unit, plan.reads, plan.index, plan.candidates, plan.evaluated],
      ['document', ['compositions'], 'archetypes', 3, ['CONTAINS', 'ORDER BY']],
    )
    assert.deepEqual(plan.conditions, { archetypes: 'openEHR-EHR-OBSERVATION.pressure_of_tests.v1' })
  })
})

describe('the status of an EHR', () => {
  const status = (more: object = {}) => ({
    _type: 'EHR_STATUS',
    archetype_node_id: 'openEHR-EHR-EHR_STATUS.generic.v1',
    name: { _type: 'DV_TEXT', value: 'EHR Status' },
    subject: { _type: 'PARTY_SELF' },
    is_queryable: true,
    is_modifiable: true,
    ...more,
  })

  it('is returned with the EHR, replaced, and kept in all versions', async () => {
    const person = await createPerson()
    const id = { _type: 'GENERIC_ID', value: 'family 55175056', scheme: 'families' }
    const external_ref = { _type: 'PARTY_REF', namespace: 'patients', type: 'PERSON', id }
    const subject = { _type: 'PARTY_SELF', external_ref }
    const ehr = assertStatus(await person.call('POST', '/med/ehr', { status: status({ subject }) }), 201)
    assert.equal(ehr.subjectId, 'family 55175056')
    const path = `/med/ehr/${ehr.id}/status`
    const firstAnswer = await person.call('GET', path)
    const { uid, ...fields } = assertStatus(firstAnswer)
    assert.deepEqual([fields, firstAnswer.etag], [status({ subject }), '"1"'])
    const next = await person.call('PUT', path, status({ is_queryable: false }), { 'if-match': '"1"' })
    assert.equal(assertStatus(next).uid.value, uid.value.replace(/1$/, '2'))
    assertProblem(await person.call('PUT', path, status(), { 'if-match': '"1"' }), 412, 'precondition-failed')
    assertProblemPlaces(
      await person.call('PUT', path, { ...status(), is_queryable: 'no' }, { 'if-match': '"1"' }),
      400,
      'invalid-input',
    )
    const q =
      'SELECT v/uid/value, s/is_queryable FROM VERSION v[ALL_VERSIONS] CONTAINS EHR_STATUS s WHERE v/uid/value LIKE $id ORDER BY v/uid/value'
    const query_parameters = { id: `${uid.value.split('::')[0]}*` }
    const { rows } = assertStatus(await person.call('POST', '/med/aql', { q, query_parameters }))
    assert.deepEqual(
      rows.map(([, queryable]: unknown[]) => queryable),
      [true, false],
    )
    const analyst = await createRoleHolder('analyst')
    const query = {
      q: 'SELECT e/ehr_id/value FROM EHR e WHERE e/ehr_id/value = $id',
      query_parameters: { id: ehr.id },
    }
    assert.deepEqual(assertStatus(await person.call('POST', '/med/aql', query)).rows, [[ehr.id]])
    assert.deepEqual(assertStatus(await analyst.call('POST', '/med/aql', query)).rows, [])
  })
})

describe('stored queries', () => {
  it('are stored by modellers and run by everybody', async () => {
    const [modeller, patient, template] = await Promise.all([
      createRoleHolder('modeller'),
      createPatient(),
      getStoredTemplate(),
    ])
    assertStatus(
      await patient.call(
        'POST',
        `/med/ehr/${patient.ehrId}/composition/json`,
        createPressureComposition(template, 142),
      ),
      201,
    )
    const name = `pressures.${patient.ehrId}`
    const path = `/med/query/${name}`
    const q = `SELECT ${SYSTOLIC} AS systolic FROM ${OBSERVATION} WHERE ${SYSTOLIC} > $limit AND o/name/value LIKE $name`
    assertProblem(await patient.call('PUT', path, { q }), 403, 'forbidden')
    assertProblemPlaces(await modeller.call('PUT', path, { q: 'SELECT' }), 400, 'invalid-input')
    const answer = await modeller.call('PUT', path, { q })
    assert.deepEqual(assertStatus(answer, 201).parameters, ['limit', 'name'])
    const next = await modeller.call('PUT', path, { q, description: 'High ones' }, { 'if-match': '"1"' })
    assert.equal(assertStatus(next).version, 2)
    assertProblem(
      await modeller.call('PUT', path, { q }, { 'if-none-match': '*' }),
      412,
      'precondition-failed',
    )
    assert.equal(assertStatus(await patient.call('GET', path)).description, 'High ones')
    const query_parameters = { limit: 140, name: 'Blood*' }
    const run = await patient.call('POST', `${path}/run`, { query_parameters })
    assert.deepEqual(assertStatus(run).rows, [[142]])
    const link = `${path}/run?query_parameters=${encodeURIComponent(JSON.stringify(query_parameters))}`
    assert.deepEqual(assertStatus(await patient.call('GET', link)).rows, [[142]])
    const unknown = await patient.call('POST', `${path}/run`, { query_parameters: { limit: 1, high: 2 } })
    assert.deepEqual(assertProblemPlaces(unknown, 400, 'invalid-input'), ['body.query_parameters.high'])
    assertProblemPlaces(await patient.call('POST', `${path}/run`, {}), 400, 'invalid-input')
    assertStatus(await modeller.call('DELETE', path), 204)
    assertProblem(await patient.call('GET', path), 404, 'not-found')
  })

  it('stores queries that are sent at once, or refuses them', async () => {
    const modeller = await createRoleHolder('modeller')
    const texts = [1, 2, 3, 4].map((limit) => `SELECT e/ehr_id/value FROM EHR e LIMIT ${limit}`)
    const sendAll = async (at: string, headers: Record<string, string> = {}) => {
      const answers = await Promise.all(texts.map((q) => modeller.call('PUT', at, { q }, headers)))
      for (const [i, answer] of answers.entries())
        if (answer.status < 300) assert.equal(answer.body.q, texts[i])
      return answers.map(({ status }) => status).sort()
    }
    const name = `at-once.${modeller.mvUid}`
    assert.deepEqual(await sendAll(`/med/query/${name}`), [200, 200, 200, 201])
    const createOnly = { 'if-none-match': '*' }
    assert.deepEqual(await sendAll(`/med/query/${name}-2`, createOnly), [201, 412, 412, 412])
    const versions = `/openehr/v1/definition/query/org.example::${name}`
    assert.deepEqual(await sendAll(`${versions}/1.0.0`), [200, 409, 409, 409])
    assert.deepEqual(await sendAll(versions), [200, 200, 200, 200])
    assert.equal(assertStatus(await modeller.call('GET', versions)).length, 5)
  })
})
