import { type Static, Type } from '@sinclair/typebox'
import { MEASUREMENTS } from '../../records/kinds.ts'
import type { Outcome, Sent } from '../../records/measurements/batches.ts'
import { brokenBeside } from '../../records/registered/rules.ts'
import { idsTogether } from '../../records/store/documents/ids.ts'
import { errorCode, ServiceError } from '../../schemas/errors.ts'
import { BatchOutcome, MeasurementBatch } from '../../schemas/measurement-batch.ts'
import { checkOf } from '../../schemas/registry.ts'
import type { Violation } from '../../schemas/violation.ts'
import { operation } from '../operation/operation.ts'

/** Every kind of measurement by its name in paths, with what checks its body. */
const byPath = new Map(MEASUREMENTS.map((kind) => [kind.path, { kind, check: checkOf(kind.body) }]))
const NAMES = [...byPath.keys()]

const Named = Type.Object({ kind: Type.Unsafe<string>({ enum: NAMES }) })
type Named = Static<typeof Named>
const checkKind = checkOf(Named)

export const measurementBatch = [
  operation({
    id: 'addMeasurements',
    method: 'post',
    path: '/ehr/{ehrId}/procedure/batch',
    summary: 'Store measurements of several kinds at once',
    description:
      `Up to 1,000, each with a result of its own: stored, known (the same device, kind, time and values were stored before) or refused. \`kind\` is one of ${NAMES.join(', ')}. ` +
      'What the answer reports as stored is on disk. When the caller may write none of the care plans, the whole request is refused.',
    source: 'EHR data',
    extra: true,
    access: 'plan:write',
    body: MeasurementBatch,
    limits: { bytes: 4 * 1024 * 1024, values: 100_000 },
    reply: [200, BatchOutcome],
    handle: async ({ params: { ehrId }, body: { items } }, { caller, batches, newId }) => {
      const nextId = idsTogether(newId)
      const read = items.map((item) => readItem(item, nextId()))
      const sent = read.flatMap((one) => ('body' in one ? [one] : []))
      const stored = (await batches.store(caller, ehrId, sent)).values()
      const outcomes = read.map((one) => ('body' in one ? (stored.next().value as Outcome) : one))
      return summary(
        outcomes.map((outcome, index) =>
          outcomeOf(
            outcome,
            index,
            'body.items',
            (id) => `/ehr/${ehrId}/procedure/${(items[index] as Named).kind}/${id}`,
          ),
        ),
      )
    },
  }),
]

/** An item as its kind's own operation would take it. */
function readItem(item: unknown, id: string): Sent | Outcome {
  const unnamed = checkKind(item)
  if (unnamed.length > 0) return invalid(unnamed)
  const { kind: name, ...body } = item as Named
  const { kind, check } = byPath.get(name) as NonNullable<ReturnType<typeof byPath.get>>
  const violations = check(body)
  if (violations.length === 0) return { kind, body, id }
  return invalid([...violations, ...brokenBeside(kind, body, violations)])
}

/** What became of all of them. */
export function summary(items: BatchOutcome['items']): BatchOutcome {
  const count = (of: Outcome['status']) => items.filter(({ status }) => status === of).length
  return { items, stored: count('stored'), known: count('known'), refused: count('refused') }
}

export const invalid = (violations: Violation[]): Outcome => ({
  status: 'refused',
  error: new ServiceError('InvalidInput', { violations }),
})

export function outcomeOf(
  outcome: Outcome,
  index: number,
  place: string,
  hrefOf: (id: string) => string,
): BatchOutcome['items'][number] {
  const { status } = outcome
  if (outcome.status !== 'refused') {
    const { id, warnings } = outcome
    return { index, status, id, href: hrefOf(id), warnings, code: null, errors: [] }
  }
  const { error } = outcome
  const errors = violationsOf(error).map(({ path, code, message }) => ({
    path: `${place}.${index}${path && `.${path}`}`,
    code,
    message: `${path || 'The item'} ${message}.`,
  }))
  return { index, status, id: null, href: null, warnings: [], code: errorCode(error.error), errors }
}

/** What is wrong with an item; a plan that is not the caller's to write is wrong where the item names it. */
function violationsOf({ error, violations }: ServiceError): readonly Violation[] {
  if (error !== 'NotFound' && error !== 'Forbidden') return violations
  const message =
    error === 'NotFound'
      ? 'names no care plan of this EHR'
      : 'names a care plan that the caller may only read'
  return [{ path: 'carePlanId', code: errorCode(error), message }]
}
