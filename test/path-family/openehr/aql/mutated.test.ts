import assert from 'node:assert/strict'
import fc from 'fast-check'
import { checked } from '../../../../records/openehr/aql/checker.ts'
import { evaluation } from '../../../../records/openehr/aql/evaluation/evaluate.ts'
import { forestOf } from '../../../../records/openehr/aql/evaluation/forest.ts'
import { parseQuery } from '../../../../records/openehr/aql/language/parser.ts'
import { Budget } from '../../../../records/openehr/aql/results/budget.ts'
import { collector } from '../../../../records/openehr/aql/results/collector.ts'
import { readComposition } from '../../../../records/openehr/compositions/reading.ts'
import { exampleOf } from '../../../../records/openehr/examples/example.ts'
import { TextFault } from '../../../../records/openehr/formats/text-fault.ts'
import { readTemplate } from '../../../../records/openehr/opt/read-template.ts'
import { xmlOf } from '../../../../records/openehr/rm/in-xml.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import { Random } from '../../../fuzz/generator/world/random.ts'
import { AqlQueries } from '../../../fuzz/openehr/aql-queries.ts'
import { nearComposition } from '../../../fuzz/openehr/near-compositions.ts'
import { corpus, corpusFiles } from '../../../harness/corpus.ts'
import { corpusBytes } from '../../../harness/openehr.ts'
import { sized } from '../../../harness/size.ts'
import { InMemory } from './corpus/in-memory.ts'
import type { Suite } from './corpus/suites.ts'

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

const NUL_IN_PATTERN = "SELECT e FROM EHR e CONTAINS COMPOSITION c WHERE c/name/value LIKE 'a\0*'"

describe('made at random', () => {
  it('queries that are valid are answered, and those that are hardly so refused or answered', async function () {
    this.timeout(sized(30_000, 3_600_000))
    const suites = corpusFiles(this, 'openehr/aql/cases').map((file) => corpus<Suite>(this, file))
    const queries = suites.flatMap(({ cases }) => cases.map(({ q }) => q))
    const world = new InMemory(this)
    world.do(corpus<Suite>(this, 'openehr/aql/derived/derived-beyond-ehrbase.json').setup)
    const roots = [...world.ehrs.values()].flatMap(({ documents }) =>
      documents.slice(0, 2).flatMap(({ object }) => object ?? []),
    )
    let [answered, refused] = [0, 0]
    const ask = (q: string) => {
      const query = checked(parseQuery(q), { x: 1 })
      const evaluated = evaluation(query, new Date())
      const collected = collector(query, evaluated, { offset: 0, limit: 10 }, new Budget())
      try {
        for (const [ehrId, { ehr, documents }] of world.ehrs)
          for (const row of evaluated.rows(forestOf(ehr, ehrId, documents.slice(0, 2))))
            if (row) collected.add(row, ehrId)
        collected.end()
        answered++
      } catch (error) {
        if (!(error instanceof ServiceError) || error.error !== 'DeadlineExceeded') throw error
        refused++
      }
    }
    const valid = fc.nat().map((seed) => new AqlQueries(roots, new Random(seed)).next())
    const numRuns = sized(500, 20_000, 200_000)
    fc.assert(fc.property(valid, ask), { numRuns, examples: [[NUL_IN_PATTERN]] })
    assert.ok(refused < numRuns / 100, `${refused} are refused`)
    assert.equal(answered + refused, numRuns)
    const property = fc.property(changed(fc.oneof(valid, fc.constantFrom(...queries))), (q) => {
      try {
        ask(q)
      } catch (error) {
        if (!(error instanceof TextFault)) throw error
      }
    })
    fc.assert(property, { numRuns: numRuns / 10 })
  })

  it('compositions that are almost valid are refused, or the same in both formats', async function () {
    this.timeout(sized(30_000, 3_600_000))
    const templates = new Map(
      corpusFiles(this, 'openehr/templates').map((file) => {
        const template = readTemplate(corpusBytes(file) as Buffer)
        return [template.templateId, { template }]
      }),
    )
    const find = async (id: string) => templates.get(id)
    const given = [...templates.values()].map(({ template }) => exampleOf(template, 'complete'))
    let stored = 0
    const property = fc.asyncProperty(fc.nat(), async (seed) => {
      const random = new Random(seed)
      const json = nearComposition(random.pick(given), random)
      const read = await readComposition({ json }, find).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.status >= 500) throw error
      })
      if (!read) return
      stored++
      const xml = Buffer.from(xmlOf(read.object, 'composition'))
      assert.deepEqual((await readComposition({ xml }, find)).object, read.object)
    })
    const numRuns = sized(75, 5_000, 50_000)
    await fc.assert(property, { numRuns })
    assert.ok(stored > numRuns / 20, `${stored} are stored`)
  })
})
