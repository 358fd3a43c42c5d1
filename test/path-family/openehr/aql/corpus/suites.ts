/** A step that prepares the data of the cases; `as` is its name in placeholders. */
export interface Step {
  op: 'template' | 'ehr' | 'composition'
  as?: string
  file?: string
  ehr?: string
  ehr_id?: string
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
  setup?: Step[]
}

export interface Suite {
  setup: Step[]
  cases: Case[]
}

export const SYSTEM = 'hrs.local'
export const USUAL_STATUS = '000_ehr_status_with_other_details.json'

const NAME = /\{\{([^}]*)\}\}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

/**
 * The values of placeholders in cases, such as `{{ehr1}}` and `{{comp1.uid}}`, and of ids that differ here.
 */
export class Names {
  readonly #names = new Map<string, string>([['system_id', SYSTEM]])

  /** @param parts the values by the name after the point */
  add(as: string, parts: Record<string, string>): void {
    for (const [part, value] of Object.entries(parts)) this.#names.set(part ? `${as}.${part}` : as, value)
  }

  filled(text: string): string {
    return text.replace(NAME, (text, name = text) => this.#names.get(name) ?? text)
  }
}

/** EHRs, initially empty, that steps fill and cases query. */
export interface Store {
  names: Names
  do(steps: readonly Step[]): void | Promise<void>
  rows(one: Case): unknown[][] | Promise<unknown[][]>
}

/** A value in the form for comparison, without differences that the corpus ignores. */
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

/** Rows in the form for comparison, sorted unless the order matters. */
export function comparableRows(rows: readonly unknown[][], { ordered, compareAsStrings }: Case): string[] {
  const texts = rows.map((row) =>
    JSON.stringify(row.map((cell) => comparable(compareAsStrings ? String(cell) : cell))),
  )
  return ordered ? texts : texts.sort()
}
