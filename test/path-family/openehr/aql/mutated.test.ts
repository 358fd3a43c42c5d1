import assert from 'node:assert/strict'
import fc from 'fast-check'
import { checked } from '../../../../records/openehr/aql/checker.ts'
import { evaluation } from '../../../../records/openehr/aql/evaluation/evaluate.ts'
import { forestOf } from '../../../../records/openehr/aql/evaluation/forest.ts'
import { parseQuery } from '../../../../records/openehr/aql/language/parser.ts'
import { Budget } from '../../../../records/openehr/aql/results/budget.ts'
import { collector } from '../../../../records/openehr/aql/results/collector.ts'
import { readComposition } from '../../../../records/openehr/compositions/reading.ts'
import { TextFault } from '../../../../records/openehr/formats/text-fault.ts'
import { readTemplate } from '../../../../records/openehr/opt/read-template.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import { corpus, corpusFiles } from '../../../harness/corpus.ts'
import { corpusBytes } from '../../../harness/openehr.ts'
import { sized } from '../../../harness/size.ts'
import { type Suite, World } from './suites.ts'

/** What of a query that combines everything with everything is looked at. */
const MOST_STEPS = 2_000

const PIECES = [
  ...[
    'SELECT',
    'FROM',
    'WHERE',
    'CONTAINS',
    'AND',
    'OR',
    'NOT',
    'EXISTS',
    'LIKE',
    'MATCHES',
    'ORDER BY',
    'LIMIT',
    'OFFSET',
  ],
  ...[
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ',',
    '/',
    '=',
    '!=',
    '<',
    "'",
    '"',
    '\\',
    '--',
    '$x',
    '*',
    '-',
    '1e308',
    '9'.repeat(40),
  ],
  ...[
    'COUNT(',
    'MAX(',
    'VERSION[ALL_VERSIONS]',
    'EHR e',
    'at0001',
    'openEHR-EHR-X.y.v1',
    'NULL',
    '__proto__',
    '\0',
    '😀',
  ],
]

/** Pieces of it taken out, doubled, put in. */
const changed = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      text,
      fc.array(fc.tuple(fc.nat(), fc.nat(12), fc.constantFrom('', '', ...PIECES)), {
        minLength: 1,
        maxLength: 4,
      }),
    )
    .map(([query, edits]) =>
      edits.reduce((now, [from, length, piece]) => {
        const at = from % (now.length + 1)
        return `${now.slice(0, at)} ${piece} ${now.slice(at + length)}`
      }, query),
    )

describe('mutated', () => {
  it('queries are refused or answered, whatever they say', async function () {
    this.timeout(sized(30_000, 3_600_000))
    const suites = corpusFiles(this, 'openehr/aql/cases').map((file) => corpus<Suite>(this, file))
    const queries = suites.flatMap(({ cases }) => cases.map(({ q }) => q))
    const world = new World(this)
    world.do(corpus<Suite>(this, 'openehr/aql/derived/derived-beyond-ehrbase.json').setup)
    let answered = 0
    const ask = (q: string) => {
      const query = checked(parseQuery(q), { x: 1 })
      const evaluated = evaluation(query, new Date())
      const collected = collector(query, evaluated, { offset: 0, limit: 10 }, new Budget())
      let steps = 0
      for (const [ehrId, { ehr, documents }] of world.ehrs)
        for (const row of evaluated.rows(forestOf(ehr, ehrId, documents.slice(0, 2)))) {
          if (row) collected.add(row, ehrId)
          if (++steps > MOST_STEPS) return
        }
      collected.end()
      answered++
    }
    const property = fc.property(changed(fc.constantFrom(...queries)), (q) => {
      try {
        ask(q)
      } catch (error) {
        if (!(error instanceof TextFault)) throw error
      }
    })
    const examples: [string][] = [
      ["SELECT e FROM EHR e CONTAINS COMPOSITION c WHERE c/name/value LIKE 'a\0*'"],
    ]
    fc.assert(property, { numRuns: sized(2_000, 200_000), examples })
    assert.ok(answered > 0)
  })

  it('compositions are refused or stored, whatever they say', async function () {
    this.timeout(sized(30_000, 3_600_000))
    const given = corpus<object>(
      this,
      'openehr/aql/data/compositions/ehrbase_blood_pressure_simple.de.v0.json',
    )
    const template = readTemplate(
      corpusBytes('openehr/aql/data/opts/ehrbase_blood_pressure_simple.de.v0.opt') as Buffer,
    )
    const find = async (id: string) => (id === template.templateId ? { template } : undefined)
    const property = fc.asyncProperty(fc.nat(), fc.anything(), async (place, value) => {
      const json = put(structuredClone(given), place, value)
      await readComposition({ json }, find).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.status >= 500) throw error
      })
    })
    await fc.assert(property, { numRuns: sized(300, 50_000) })
  })
})

/** Puts a value in one of the places of an object. */
function put(object: object, place: number, value: unknown): object {
  const places: [holder: Record<string, unknown>, name: string][] = []
  const visit = (holder: Record<string, unknown>): void => {
    for (const [name, one] of Object.entries(holder)) {
      places.push([holder, name])
      if (typeof one === 'object' && one !== null) visit(one as Record<string, unknown>)
    }
  }
  visit(object as Record<string, unknown>)
  const [holder, name] = places[place % places.length] as (typeof places)[number]
  holder[name] = value
  return object
}
