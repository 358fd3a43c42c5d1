import type { Context } from 'mocha'
import { checkQuery } from '../../../../../openehr/aql/check-query.ts'
import { buildEhrTree, type DocumentVersion } from '../../../../../openehr/aql/evaluation/ehr-tree.ts'
import { createEvaluation } from '../../../../../openehr/aql/evaluation/evaluation.ts'
import { parseQuery } from '../../../../../openehr/aql/language/parse-query.ts'
import { collectRows } from '../../../../../openehr/aql/results/evaluate-rows.ts'
import { MemoryBudget } from '../../../../../openehr/aql/results/memory-budget.ts'
import { createRowCollector } from '../../../../../openehr/aql/results/row-collector.ts'
import { toRmObject } from '../../../../../openehr/compositions/composition-json.ts'
import { type RmObject, readCanonicalJson } from '../../../../../openehr/rm/canonical-json.ts'
import { readCorpusFile } from '../../../../harness/corpus.ts'
import { type Case, Names, type Step, type Store, SYSTEM, USUAL_STATUS } from './suites.ts'

const CREATED = '2026-03-01T08:30:00Z'

/** EHRs in memory, evaluated as a whole: without service, database or template. */
export class InMemory implements Store {
  readonly ehrs = new Map<string, { ehr: RmObject; documents: DocumentVersion[] }>()
  readonly names = new Names()
  readonly #test: Context
  #compositions = 0

  constructor(test: Context) {
    this.#test = test
  }

  do(steps: readonly Step[]): void {
    for (const step of steps) {
      if (step.op === 'ehr') this.#addEhr(step)
      if (step.op === 'composition') this.#addComposition(step)
    }
  }

  #addEhr({ as = '', status = USUAL_STATUS }: Step): void {
    const ehrId = `ehr-${this.ehrs.size + 1}`
    const json = readCorpusFile<Record<string, unknown>>(this.#test, `openehr/aql/data/ehrs/${status}`)
    const object = readCanonicalJson(json, 'EHR_STATUS').object as RmObject
    const uid = `status-${ehrId}::${SYSTEM}::1`
    object.uid = { _type: 'OBJECT_VERSION_ID', value: uid }
    const ehr = {
      _type: 'EHR',
      ehr_id: { _type: 'HIER_OBJECT_ID', value: ehrId },
      time_created: { _type: 'DV_DATE_TIME', value: CREATED },
      ehr_status: object,
    }
    this.ehrs.set(ehrId, { ehr, documents: [{ record: `status-${ehrId}`, object, latest: true }] })
    // biome-ignore lint/suspicious/noExplicitAny: tests read any content
    const { id, namespace } = (object as any).subject.external_ref
    this.names.add(as, {
      '': ehrId,
      status_uid: uid,
      subject: id.value,
      subject_ns: namespace,
      time_created: CREATED,
    })
  }

  #addComposition({ as = '', file = '', ehr = '' }: Step): void {
    const json = readCorpusFile<Record<string, unknown>>(this.#test, `openehr/aql/data/compositions/${file}`)
    const { object } = readCanonicalJson(json, 'COMPOSITION')
    const { uid, ...rest } = object as RmObject
    const objectId = (uid as { value: string } | undefined)?.value.split('::')[0]
    const id = objectId ?? `00000000-0000-4000-8000-${String(++this.#compositions).padStart(12, '0')}`
    const storedEhr = this.ehrs.get(this.names.filled(ehr)) as { documents: DocumentVersion[] }
    const composition = toRmObject({ id, version: 1, json: JSON.stringify(rest) })
    storedEhr.documents.push({ record: id, object: composition, latest: true })
    this.names.add(as, { id, uid: `${id}::${SYSTEM}::1` })
  }

  rows({ q, query_parameters = {} }: Case): unknown[][] {
    const query = checkQuery(parseQuery(q), query_parameters)
    const evaluation = createEvaluation(query, new Date())
    const window = { offset: query.offset ?? 0, limit: query.limit ?? 10_000 }
    const collector = createRowCollector(query, evaluation, window, new MemoryBudget())
    const allRows = []
    for (const [ehrId, { ehr, documents }] of this.ehrs)
      for (const rows of collectRows({ tree: buildEhrTree(ehr, ehrId, documents), evaluation, collector }))
        allRows.push(...(rows ?? []))
    allRows.push(...collector.end())
    return allRows.map(({ cells }) => cells.map((cell) => JSON.parse(cell)))
  }
}
