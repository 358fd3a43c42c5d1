import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { HomeVisit, homeVisits } from '../../docs/examples/home-visit.ts'
import { PeakFlow } from '../../docs/examples/peak-flow.ts'
import { relatives } from '../../docs/examples/relatives.ts'
import { measurementKindOperations } from '../../path-api/resources/measurements/measurements.ts'
import { impliedErrors } from '../../path-api/response/problem-document.ts'
import {
  validateChangedRecord,
  validateClassCreate,
  validateNewRecord,
} from '../../records/ehr-records/validation/record-validation.ts'
import { containedCollections, kinds } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { newPlace } from '../family-kinds.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { service } from '../harness/service/service.ts'

/**
 * Collections that refer to an EHR but contain no records of it, and the reason why they are removed with it
 * or stay.
 */
const ABOUT_EHRS = {
  'audit.entries': 'stays: who saw what is not forgotten with the EHR',
  'history.changes': 'goes by its own range of ids',
  'fhir.subscription_events': 'stays for a week: it has ids alone, and shows those that a search finds',
  _SCHEMA: 'says which fields a class has',
  _User: 'an account names the EHR that came with it',
}

describe('the table of kinds', () => {
  it('contains every collection with data of an EHR', async () => {
    const { patient, place } = await newPlace()
    assertStatus(
      await patient.call('POST', `/med/${place.ehrId}/careplan/${place.carePlanId}/settings`, {
        colour: 'blue',
      }),
    )
    const knownCollections = new Set([
      ...kinds.map(({ collection }) => collection),
      ...Object.keys(ABOUT_EHRS),
    ])
    const holding: string[] = []
    for (const { name } of await service.db.listCollections({}, { nameOnly: true }).toArray())
      if (await service.db.collection(name).findOne({ ehrId: { $type: 'string' } })) holding.push(name)
    assert.ok(holding.includes('CarePlan') && holding.includes('plan.settings'), String(holding))
    const unknown = holding.filter((name) => !knownCollections.has(name))
    assert.deepEqual(unknown, [], `add these to records/kinds.ts, or they outlive their EHR: ${unknown}`)
  })

  it('states for every kind that refers to an EHR with which record it is deleted', () => {
    for (const { collection, schema } of kinds) {
      const inEhr = 'ehrId' in schema.properties
      assert.equal(containedCollections.Ehr.includes(collection), inEhr, collection)
      assert.equal(
        containedCollections.CarePlan.includes(collection),
        'carePlanId' in schema.properties,
        collection,
      )
      assert.equal(containedCollections.Goal.includes(collection), 'goalId' in schema.properties, collection)
    }
  })

  it('has names for people for every kind, in both languages', () => {
    for (const { collection, words } of kinds)
      for (const word of [words.en, words.nl]) assert.match(word, /^[a-z][a-z ]+$/, collection)
  })
})

const GUIDES = [
  ['docs/adding-a-resource.md', 'docs/examples/home-visit.ts'],
  ['docs/adding-a-measurement.md', 'docs/examples/peak-flow.ts'],
  ['docs/adding-an-operation.md', 'docs/examples/relatives.ts'],
] as const

describe('examples in the guides', () => {
  for (const [guide, example] of GUIDES)
    it(`show ${example} unchanged in ${guide}`, () => {
      assert.ok(readFileSync(guide, 'utf8').includes(`\`\`\`ts\n${readFileSync(example, 'utf8')}\`\`\``))
    })

  it('give at most two files the same name, as test/rooms.test.ts requires', () => {
    for (const [, example] of GUIDES) {
      const files = [...readFileSync(example, 'utf8').matchAll(/^\/\/ (\S+\.ts)/gm)].map(([, file]) => file)
      assert.ok(files.length > 0, example)
      const names = files.map((file) => basename(file ?? ''))
      for (const name of names) assert.ok(names.filter((other) => other === name).length <= 2, name)
    }
  })

  it('create operations with the errors that follow from their shape', () => {
    assert.deepEqual(
      relatives.map(({ id, method, path, extra }) => [id, method, path, extra]),
      [
        ['listRelatives', 'get', '/profile/{mvUid}/relative', true],
        ['addRelative', 'post', '/profile/{mvUid}/relative', true],
        ['updateRelative', 'put', '/profile/{mvUid}/relative/{relationId}', true],
      ],
    )
    const withPrecondition = relatives.filter((one) => impliedErrors(one).includes('PreconditionRequired'))
    assert.deepEqual(
      withPrecondition.map(({ id }) => id),
      ['updateRelative'],
    )
  })

  it('create forms, rules and operations', () => {
    const visit = { ehrId: 'e', day: '2026-03-01', visitor: 'Nurse' }
    assert.deepEqual(validateNewRecord(HomeVisit as never, visit), visit)
    assert.throws(
      () => validateChangedRecord(HomeVisit as never, visit, { ...visit, visitor: 'Doctor' }),
      /rule/,
    )
    const day = { __type: 'Date', iso: '2026-03-01T00:00:00.000Z' }
    assert.deepEqual(HomeVisit.checks.create({ ...visit, day }), [])
    assert.deepEqual(validateClassCreate(HomeVisit as never, visit, []), { missing: [], violations: [] })
    const { fingerprint, ...follows } = PeakFlow.rules.derived?.({ peakFlow: 420, personalBest: 500 }) ?? {}
    assert.match(String(fingerprint), /^[\w-]{20}$/)
    assert.deepEqual(follows, {
      percentOfBest: 84,
      warnings: [],
    })
    assert.ok(!('percentOfBest' in PeakFlow.body.properties))
    assert.ok('percentOfBest' in PeakFlow.resource.properties)
    assert.deepEqual(
      [...homeVisits, ...measurementKindOperations(PeakFlow as unknown as MeasurementKind)].map(
        ({ method, path, extra }) => [method, path, extra],
      ),
      [
        ...['/med/{ehrId}/homevisit', '/ehr/{ehrId}/procedure/airflow'].flatMap((path, i) => {
          const one = `${path}/{${i === 0 ? 'homeVisitId' : 'compositionId'}}`
          return [
            ['get', path, true],
            ['post', path, true],
            ...['get', 'put', 'delete'].map((method) => [method, one, true]),
            ['get', `${one}/history`, true],
            ['post', `${one}/restore`, true],
          ]
        }),
      ],
    )
  })
})
