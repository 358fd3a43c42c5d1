import type { Context } from 'mocha'
import { checked } from '../../../../records/openehr/aql/checker.ts'
import { evaluation } from '../../../../records/openehr/aql/evaluation/evaluate.ts'
import { type Document, forestOf } from '../../../../records/openehr/aql/evaluation/forest.ts'
import { parseQuery } from '../../../../records/openehr/aql/language/parser.ts'
import { Budget } from '../../../../records/openehr/aql/results/budget.ts'
import { collector } from '../../../../records/openehr/aql/results/collector.ts'
import { objectOf } from '../../../../records/openehr/compositions/compositions.ts'
import { canonical, type RmObject } from '../../../../records/openehr/rm/canonical.ts'
import { corpus } from '../../../harness/corpus.ts'

interface Setup {
  op: 'template' | 'ehr' | 'composition'
  as?: string
  file?: string
  ehr?: string
  status?: string
}

export interface Case {
  id: string
  q: string
  query_parameters?: Record<string, unknown>
  ordered: boolean
  rows: unknown[][]
  columns?: { name: string; path?: string }[]
  compareAsStrings?: boolean
  setup?: Setup[]
}

export interface Suite {
  setup: Setup[]
  cases: Case[]
}

const SYSTEM = 'hrs.local'

/** EHRs in memory, and what the placeholders of the cases stand for. */
export class World {
  readonly ehrs = new Map<string, { ehr: RmObject; documents: Document[] }>()
  readonly names = new Map<string, string>([['system_id', SYSTEM]])
  readonly #test: Context

  constructor(test: Context) {
    this.#test = test
  }

  do(setup: readonly Setup[]): void {
    for (const one of setup) {
      if (one.op === 'ehr') this.#addEhr(one)
      if (one.op === 'composition') this.#addComposition(one)
    }
  }

  #addEhr({ as = '', status = '000_ehr_status_with_other_details.json' }: Setup): void {
    const ehrId = `ehr-${this.ehrs.size + 1}`
    const given = corpus<Record<string, unknown>>(this.#test, `openehr/aql/data/ehrs/${status}`)
    const object = canonical(given, 'EHR_STATUS').object as RmObject
    const uid = `status-${ehrId}::${SYSTEM}::1`
    object.uid = { _type: 'OBJECT_VERSION_ID', value: uid }
    const ehr = {
      _type: 'EHR',
      ehr_id: { _type: 'HIER_OBJECT_ID', value: ehrId },
      time_created: { _type: 'DV_DATE_TIME', value: '2026-03-01T08:30:00Z' },
      ehr_status: object,
    }
    this.ehrs.set(ehrId, { ehr, documents: [{ record: `status-${ehrId}`, object, latest: true }] })
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into it
    const reference = (object as any).subject.external_ref
    this.names.set(as, ehrId)
    this.names.set(`${as}.status_uid`, uid)
    this.names.set(`${as}.subject`, reference.id.value)
    this.names.set(`${as}.subject_ns`, reference.namespace)
    this.names.set(`${as}.time_created`, '2026-03-01T08:30:00Z')
  }

  #addComposition({ as = '', file = '', ehr = '' }: Setup): void {
    const given = corpus<Record<string, unknown>>(this.#test, `openehr/aql/data/compositions/${file}`)
    const { object } = canonical(given, 'COMPOSITION')
    const { uid, ...rest } = object as RmObject
    const own = (uid as { value: string } | undefined)?.value.split('::')[0]
    const id = own ?? `00000000-0000-4000-8000-${String(this.names.size).padStart(12, '0')}`
    const of = this.ehrs.get(this.filled(ehr)) as { documents: Document[] }
    const kept = objectOf({ id, version: 1, json: JSON.stringify(rest) })
    of.documents.push({ record: id, object: kept, latest: true })
    this.names.set(`${as}.id`, id)
    this.names.set(`${as}.uid`, `${id}::${SYSTEM}::1`)
  }

  filled(text: string): string {
    return text.replace(/\{\{([^}]*)\}\}/g, (placeholder, name) => this.names.get(name) ?? placeholder)
  }

  /** The rows of a query, evaluated on whole EHRs. */
  rows(q: string, parameters: Record<string, unknown> = {}, now = new Date()): unknown[][] {
    const query = checked(parseQuery(q), parameters)
    const evaluated = evaluation(query, now)
    const window = { offset: query.offset ?? 0, limit: query.limit ?? 10_000 }
    const collected = collector(query, evaluated, window, new Budget())
    const made = []
    for (const [ehrId, { ehr, documents }] of this.ehrs)
      for (const row of evaluated.rows(forestOf(ehr, ehrId, documents)))
        if (row) made.push(...collected.add(row, ehrId))
    made.push(...collected.end())
    return made.map(({ cells }) => cells.map((cell) => JSON.parse(cell)))
  }
}

/** A value as cases are compared: apart from what the corpus says does not matter. */
function comparable(value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase()
  if (typeof value === 'number') return Number(value.toPrecision(7))
  if (Array.isArray(value)) return value.map((one) => JSON.stringify(comparable(one))).sort()
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name, one]) => name !== '_type' && one !== null)
  return Object.fromEntries(
    entries
      .map(([name, one]) => [name, comparable(one)])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  )
}

/** Rows as they are compared; in no order unless it matters. */
export function comparableRows(rows: readonly unknown[][], { ordered, compareAsStrings }: Case): string[] {
  const texts = rows.map((row) =>
    JSON.stringify(row.map((cell) => comparable(compareAsStrings ? String(cell) : cell))),
  )
  return ordered ? texts : texts.sort()
}
