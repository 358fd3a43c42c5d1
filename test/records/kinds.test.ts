import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { HomeVisit, homeVisits } from '../../docs/examples/home-visit.ts'
import { PeakFlow } from '../../docs/examples/peak-flow.ts'
import { operationsOf } from '../../path-api/resources/measurements.ts'
import { contents, kinds } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { createFaults, derivedOf, validChange, validNew } from '../../records/registered/rules.ts'
import { newPlace } from '../family-kinds.ts'
import { ok } from '../harness/clients/path-client.ts'
import { service } from '../harness/service/service.ts'

/** What names an EHR without being a record in it, and how it goes with the EHR. */
const ABOUT_EHRS = {
  'audit.entries': 'stays: who saw what is not forgotten with the EHR',
  'history.changes': 'goes by its own range of ids',
  _SCHEMA: 'says which fields a class has',
  _User: 'an account names the EHR that came with it',
}

describe('the table of kinds', () => {
  it('knows every collection that holds data of an EHR', async () => {
    const { patient, place } = await newPlace()
    ok(
      await patient.call('POST', `/med/${place.ehrId}/careplan/${place.carePlanId}/settings`, {
        colour: 'blue',
      }),
    )
    const known = new Set([...kinds.map(({ collection }) => collection), ...Object.keys(ABOUT_EHRS)])
    const holding: string[] = []
    for (const { name } of await service.db.listCollections({}, { nameOnly: true }).toArray())
      if (await service.db.collection(name).findOne({ ehrId: { $type: 'string' } })) holding.push(name)
    assert.ok(holding.includes('CarePlan') && holding.includes('plan.settings'), String(holding))
    assert.deepEqual(
      holding.filter((name) => !known.has(name)),
      [],
      'add them to records/kinds.ts: they would outlive their EHR',
    )
  })

  it('says for every kind that names an EHR what it disappears with', () => {
    for (const { collection, schema } of kinds) {
      const inEhr = 'ehrId' in schema.properties
      assert.equal(contents.Ehr.includes(collection), inEhr, collection)
      assert.equal(contents.CarePlan.includes(collection), 'carePlanId' in schema.properties, collection)
      assert.equal(contents.Goal.includes(collection), 'goalId' in schema.properties, collection)
    }
  })

  it('has words for people for every kind, in both languages', () => {
    for (const { collection, words } of kinds)
      for (const word of [words.en, words.nl]) assert.match(word, /^[a-z][a-z ]+$/, collection)
  })
})

describe('the examples of the guides', () => {
  for (const [guide, example] of [
    ['docs/adding-a-resource.md', 'docs/examples/home-visit.ts'],
    ['docs/adding-a-measurement.md', 'docs/examples/peak-flow.ts'],
  ] as const)
    it(`${guide} shows ${example} as it is`, () => {
      assert.ok(readFileSync(guide, 'utf8').includes(`\`\`\`ts\n${readFileSync(example, 'utf8')}\`\`\``))
    })

  it('make forms, rules and operations', () => {
    const visit = { ehrId: 'e', day: '2026-03-01', visitor: 'Nurse' }
    assert.deepEqual(validNew(HomeVisit as never, visit), visit)
    assert.throws(() => validChange(HomeVisit as never, visit, { ...visit, visitor: 'Doctor' }), /rule/)
    const moment = { __type: 'Date', iso: '2026-03-01T00:00:00.000Z' }
    assert.deepEqual(createFaults(HomeVisit as never, { ...visit, day: moment }), {
      missing: [],
      violations: [],
    })
    const { fingerprint, ...follows } = derivedOf(PeakFlow as never, { peakFlow: 420, personalBest: 500 })
    assert.match(String(fingerprint), /^[\w-]{20}$/)
    assert.deepEqual(follows, {
      percentOfBest: 84,
      warnings: [],
    })
    assert.ok(!('percentOfBest' in PeakFlow.body.properties))
    assert.ok('percentOfBest' in PeakFlow.resource.properties)
    assert.deepEqual(
      [...homeVisits, ...operationsOf(PeakFlow as unknown as MeasurementKind)].map(
        ({ method, path, extra }) => [method, path, extra],
      ),
      [
        ...['/med/{ehrId}/homevisit', '/ehr/{ehrId}/procedure/peakflow'].flatMap((path, i) => {
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
