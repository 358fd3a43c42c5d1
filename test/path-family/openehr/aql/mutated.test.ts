import assert from 'node:assert/strict'
import fc from 'fast-check'
import { checkQuery } from '../../../../openehr/aql/check-query.ts'
import { buildEhrTree } from '../../../../openehr/aql/evaluation/ehr-tree.ts'
import { createEvaluation } from '../../../../openehr/aql/evaluation/evaluation.ts'
import { parseQuery } from '../../../../openehr/aql/language/parse-query.ts'
import { collectRows } from '../../../../openehr/aql/results/evaluate-rows.ts'
import { MemoryBudget } from '../../../../openehr/aql/results/memory-budget.ts'
import { createRowCollector } from '../../../../openehr/aql/results/row-collector.ts'
import { readComposition } from '../../../../openehr/compositions/read-composition.ts'
import { createExample } from '../../../../openehr/examples/example-composition.ts'
import { TextSyntaxError } from '../../../../openehr/formats/text-syntax-error.ts'
import { readTemplate } from '../../../../openehr/opt/read-template.ts'
import { toXml } from '../../../../openehr/rm/canonical-xml.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import { Random } from '../../../fuzz/generator/context/random.ts'
import { AqlQueryGenerator } from '../../../fuzz/openehr/aql-queries.ts'
import { mutateComposition } from '../../../fuzz/openehr/composition-mutations.ts'
import { listCorpusFiles, readCorpusFile } from '../../../harness/corpus.ts'
import { readCorpusBytes } from '../../../harness/openehr-samples.ts'
import { bySize } from '../../../harness/test-size.ts'
import { InMemory } from './corpus/in-memory.ts'
import type { Suite } from './corpus/suites.ts'

const PIECES = [
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
]

/** The text with pieces removed, doubled or inserted. */
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
        const position = from % (now.length + 1)
        return `${now.slice(0, position)} ${piece} ${now.slice(position + length)}`
      }, query),
    )

const NUL_IN_PATTERN = "SELECT e FROM EHR e CONTAINS COMPOSITION c WHERE c/name/value LIKE 'a\0*'"

describe('generated at random', () => {
  it('queries are answered if valid, and refused or answered if almost valid', async function () {
    this.timeout(bySize(30_000, 3_600_000))
    const suites = listCorpusFiles(this, 'openehr/aql/cases').map((file) => readCorpusFile<Suite>(this, file))
    const queries = suites.flatMap(({ cases }) => cases.map(({ q }) => q))
    const world = new InMemory(this)
    world.do(readCorpusFile<Suite>(this, 'openehr/aql/derived/derived-beyond-ehrbase.json').setup)
    const roots = [...world.ehrs.values()].flatMap(({ documents }) =>
      documents.slice(0, 2).flatMap(({ object }) => object ?? []),
    )
    let answerCount = 0
    let refusalCount = 0
    const ask = (q: string) => {
      const query = checkQuery(parseQuery(q), { x: 1 })
      const evaluation = createEvaluation(query, new Date())
      const collector = createRowCollector(query, evaluation, { offset: 0, limit: 10 }, new MemoryBudget())
      try {
        for (const [ehrId, { ehr, documents }] of world.ehrs)
          for (const _ of collectRows({
            tree: buildEhrTree(ehr, ehrId, documents.slice(0, 2)),
            evaluation,
            collector,
          }));
        collector.end()
        answerCount++
      } catch (error) {
        if (!(error instanceof ServiceError) || error.error !== 'DeadlineExceeded') throw error
        refusalCount++
      }
    }
    const valid = fc.nat().map((seed) => new AqlQueryGenerator(roots, new Random(seed)).next())
    const numRuns = bySize(500, 20_000, 200_000)
    fc.assert(fc.property(valid, ask), { numRuns, examples: [[NUL_IN_PATTERN]] })
    assert.ok(refusalCount < numRuns / 100, `${refusalCount} are refused`)
    assert.equal(answerCount + refusalCount, numRuns)
    const property = fc.property(changed(fc.oneof(valid, fc.constantFrom(...queries))), (q) => {
      try {
        ask(q)
      } catch (error) {
        if (!(error instanceof TextSyntaxError)) throw error
      }
    })
    fc.assert(property, { numRuns: numRuns / 10 })
  })

  it('almost valid compositions are rejected, or equal in both formats', async function () {
    this.timeout(bySize(30_000, 3_600_000))
    const templates = new Map(
      listCorpusFiles(this, 'openehr/templates').map((file) => {
        const template = readTemplate(readCorpusBytes(file) as Buffer)
        return [template.templateId, { template }]
      }),
    )
    const find = async (id: string) => templates.get(id)
    const examples = [...templates.values()].map(({ template }) => createExample(template, 'complete'))
    let stored = 0
    const property = fc.asyncProperty(fc.nat(), async (seed) => {
      const random = new Random(seed)
      const json = mutateComposition(random.pick(examples), random)
      const read = await readComposition({ json }, find).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.status >= 500) throw error
      })
      if (!read) return
      stored++
      const xml = Buffer.from(toXml(read.object, 'composition'))
      assert.deepEqual((await readComposition({ xml }, find)).object, read.object)
    })
    const numRuns = bySize(75, 5_000, 50_000)
    await fc.assert(property, { numRuns })
    assert.ok(stored > numRuns / 20, `${stored} are stored`)
  })
})
