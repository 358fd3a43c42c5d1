import assert from 'node:assert/strict'
import fc from 'fast-check'
import { formatFhirJson, parseFhirJson } from '../../../records/fhir/decimal.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { type Answer, assertStatus } from '../../harness/clients/path-client.ts'
import { request, service } from '../../harness/service/service.ts'
import { issuesIn } from '../fhir-client.ts'

const decimalText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.stringMatching(/^[1-9]\d{0,20}$/),
    fc.stringMatching(/^(\.\d{1,20})?$/),
    fc.constantFrom('', 'e2', 'E-3'),
  )
  .map((parts) => parts.join(''))

describe('JSON of FHIR', () => {
  it('returns every decimal with its digits', () => {
    const member = fc.tuple(fc.string(), fc.oneof(decimalText, fc.string().map(formatFhirJson)))
    fc.assert(
      fc.property(fc.array(member), (members) => {
        const names = new Map(members)
        const json = `[${[...names].map(([name, text]) => `{${JSON.stringify(name)}:${text}}`)}]`
        assert.equal(formatFhirJson(parseFhirJson(json)), json)
      }),
    )
  })

  it('leaves a text alone that looks like a decimal', () => {
    const json = JSON.stringify({ text: '{"digitsOfDecimal":"1.0"}' })
    assert.equal(formatFhirJson(parseFhirJson(json)), json)
    assert.equal(formatFhirJson({ value: parseFhirJson('1.0') }), '{"value":1.0}')
  })
})

describe('a decimal in FHIR', () => {
  let patient: Patient
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
  })

  const weightOf = (value: string, { at = '2026-03-01T08:00:00Z', unit = 'kg', more = '' } = {}) =>
    `{"resourceType":"Observation","status":"final",
      "code":{"coding":[{"system":"http://loinc.org","code":"29463-7"}]},${more}
      "subject":{"reference":"Patient/${patient.ehrId}"},"effectiveDateTime":"${at}",
      "valueQuantity":{"value":${value},"system":"http://unitsofmeasure.org","code":"${unit}"}}`

  const send = (method: string, path: string, json: string, type = 'application/fhir+json') =>
    patient.call(method, `/fhir/R4/${path}`, Buffer.from(json), { 'content-type': type })

  /** The JSON as it is sent, since a parsed number has no digits. */
  const readText = async (path: string): Promise<string> => {
    const { status, text } = await request()
      .get(`/fhir/R4/${path}`)
      .set({ authorization: `Bearer ${patient.authToken}` })
      .buffer(true)
      .parse((response, callback) => {
        const parts: Buffer[] = []
        response.on('data', (part) => parts.push(part)).on('end', () => callback(null, Buffer.concat(parts)))
      })
      .then(({ status, body }) => ({ status, text: String(body) }))
    assert.equal(status, 200, text)
    return text
  }

  const assertShows = async (path: string, value: string) => {
    const text = await readText(path)
    assert.ok(text.includes(`"value":${value},`), `${value} by ${path}: ${text}`)
  }

  const create = async (value: string, at?: string): Promise<string> =>
    assertStatus(await send('POST', 'Observation', weightOf(value, at ? { at } : {})), 201).id

  const update = (id: string, value: string): Promise<Answer> =>
    send('PUT', `Observation/${id}`, weightOf(value, { more: `"id":"${id}",` }))

  const patch = (id: string, value: string): Promise<Answer> =>
    send(
      'PATCH',
      `Observation/${id}`,
      `[{"op":"test","path":"/valueQuantity/value","value":71},
        {"op":"replace","path":"/valueQuantity/value","value":${value}}]`,
      'application/json-patch+json',
    )

  it('comes back as it was sent, read, searched, in the history, and among everything', async () => {
    for (const [i, value] of ['71.000', '71.50', '7.1e1', '71.123456789012345678'].entries()) {
      const day = `2026-03-0${i + 2}`
      const id = await create(value, `${day}T08:00:00Z`)
      const search = `Observation?patient=${patient.ehrId}&date=${day}`
      const history = `Observation/${id}/_history`
      const everything = `Patient/${patient.ehrId}/$everything?start=${day}&end=${day}&_type=Observation`
      for (const path of [`Observation/${id}`, search, history, `${history}/1`, everything])
        await assertShows(path, value)
      const { body } = await patient.call('GET', `procedure/bodyweight/${id}`)
      assert.equal(body.weight, Number(value))
      assert.equal('decimals' in body, false)
    }
  })

  it('changes with the resource, and former versions keep theirs', async () => {
    const id = await create('71.0')
    assertStatus(await update(id, '71.00'))
    assertStatus(await patch(id, '71.000'))
    assertStatus(await update(id, '71'))
    for (const [i, value] of ['71.0', '71.00', '71.000', '71'].entries())
      await assertShows(`Observation/${id}/_history/${i + 1}`, value)
    await assertShows(`Observation/${id}`, '71')
  })

  it('stays when a client of another family writes the same number, and goes with the number', async () => {
    const id = await create('71.0')
    const path = `procedure/bodyweight/${id}`
    const { timestamp, weightUnit, carePlanId } = (await patient.call('GET', path)).body
    const put = async (weight: number, comment: string) =>
      assertStatus(await patient.call('PUT', path, { timestamp, weightUnit, carePlanId, weight, comment }))
    await put(71, 'After breakfast')
    await assertShows(`Observation/${id}`, '71.0')
    const changed = await request()
      .put(`/1/classes/BodyWeight/${id}`)
      .set(patient.headers)
      .send({ comment: 'Before breakfast' })
    assert.equal(changed.status, 200, changed.text)
    await assertShows(`Observation/${id}`, '71.0')
    await put(72, 'After breakfast')
    await assertShows(`Observation/${id}`, '72')
    const stored = await service.db.collection<{ _id: string }>('BodyWeight').findOne({ _id: id })
    assert.equal(stored !== null && 'decimals' in stored, false)
  })

  it('can be read in the class family, and not set', async () => {
    const id = await create('71.0')
    const refusal = await request()
      .put(`/1/classes/BodyWeight/${id}`)
      .set(patient.headers)
      .send({ decimals: { weight: '71.00' } })
    assert.equal(refusal.body.code, 142, refusal.text)
    const { body } = await request().get(`/1/classes/BodyWeight/${id}`).set(patient.headers)
    assert.deepEqual(body.decimals, { weight: '71.0' })
  })

  it('keeps its digits in a transaction, and next to the value in the unit of the profile', async () => {
    const { carePlanId } = (await patient.call('GET', `procedure/bodyweight/${await create('70.0')}`)).body
    const pressure = { systolic: 16, systolicUnit: 'kPa', diastolic: 10, diastolicUnit: 'kPa' }
    const body = { carePlanId, timestamp: '2026-04-01T08:00:00Z', ...pressure }
    const { id } = assertStatus(await patient.call('POST', 'procedure/bloodpressure', body), 201)
    const text = await readText(`Observation/${id}`)
    const exact = text.replaceAll('"value":16,', '"value":16.00,').replaceAll('"value":10,', '"value":10.0,')
    assert.notEqual(exact, text)
    const entry = `{"resource":${exact},"request":{"method":"PUT","url":"Observation/${id}"}}`
    const bundle = `{"resourceType":"Bundle","type":"transaction","entry":[${entry}]}`
    assertStatus(await send('POST', '', bundle))
    for (const value of ['16.00', '10.0']) await assertShows(`Observation/${id}`, value)
  })

  it('is refused with more digits than are kept, and where FHIR has no decimal', async () => {
    const long = `71.${'1'.repeat(80)}`
    const refusal = await send('POST', 'Observation', weightOf(long))
    assert.equal(refusal.status, 422)
    assert.deepEqual(issuesIn(refusal), ['not-supported Observation.valueQuantity.value'])
    const text = await send('POST', 'Observation', weightOf('71', { more: '"note":[{"text":1.0}],' }))
    assert.equal(text.status, 422)
    assert.match(issuesIn(text).join(), /Observation\.note\[0\]\.text/)
  })
})
