import { type Static, Type } from '@sinclair/typebox'
import { ruleViolationsBesideSchema } from '../../../records/ehr-records/validation/record-validation.ts'
import { MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import { mapInSlices, TimeSlice } from '../../../records/limits/time-slice.ts'
import type { BatchItem, BatchItemOutcome } from '../../../records/measurements/measurement-batches.ts'
import { createSequentialIdGenerator } from '../../../records/store/documents/ids.ts'
import { errorCode, ServiceError } from '../../../schemas/errors.ts'
import { BatchOutcome, MeasurementBatch } from '../../../schemas/measurements/measurement-batch.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { defineOperation } from '../../operation/operation.ts'

/** Kinds of measurements by path name, with the validators of their bodies. */
const kindsByPath = new Map(
  MEASUREMENT_KINDS.map((kind) => [kind.path, { kind, check: createValidator(kind.body) }]),
)
const KIND_NAMES = [...kindsByPath.keys()]

const NamedItem = Type.Object({ kind: Type.Unsafe<string>({ enum: KIND_NAMES }) })
type NamedItem = Static<typeof NamedItem>
const validateKindName = createValidator(NamedItem)

export const measurementBatchOperations = [
  defineOperation({
    id: 'addMeasurements',
    method: 'post',
    path: '/ehr/{ehrId}/procedure/batch',
    summary: 'Create measurements of several kinds at once',
    description:
      `Stores up to 1,000 measurements. Each has its own result: stored, known (the same device, kind, time and values were stored before) or refused. \`kind\` is one of ${KIND_NAMES.join(', ')}. ` +
      'Measurements that the response reports as stored are on disk. If the caller may write none of the care plans, the whole request is refused.',
    source: 'EHR data',
    extra: true,
    access: 'plan:write',
    body: MeasurementBatch,
    limits: { bytes: 4 * 1024 * 1024, values: 100_000 },
    reply: [200, BatchOutcome],
    handle: async ({ params: { ehrId }, body: { items } }, { caller, batches, newId }) => {
      const nextId = createSequentialIdGenerator(newId)
      const read = await mapInSlices(
        items,
        (item) => readBatchItem(item, nextId()),
        new TimeSlice({ admission: caller.admission }),
      )
      const validItems = read.flatMap((one) => ('body' in one ? [one] : []))
      const storedOutcomes = (await batches.store(caller, ehrId, validItems)).values()
      const outcomes = read.map((one) =>
        'body' in one ? (storedOutcomes.next().value as BatchItemOutcome) : one,
      )
      return summarizeOutcomes(
        outcomes.map((outcome, index) =>
          toItemOutcome(
            outcome,
            index,
            'body.items',
            (id) => `/ehr/${ehrId}/procedure/${(items[index] as NamedItem).kind}/${id}`,
          ),
        ),
      )
    },
  }),
]

/** Validates an item like the body of its kind's own operation. */
function readBatchItem(item: unknown, id: string): BatchItem | BatchItemOutcome {
  const kindViolations = validateKindName(item)
  if (kindViolations.length > 0) return refuseItem(kindViolations)
  const { kind: name, ...body } = item as NamedItem
  const { kind, check } = kindsByPath.get(name) as NonNullable<ReturnType<typeof kindsByPath.get>>
  const violations = check(body)
  if (violations.length === 0) return { kind, body, id }
  return refuseItem([...violations, ...ruleViolationsBesideSchema(kind, body, violations)])
}

/** Counts the results. */
export function summarizeOutcomes(items: BatchOutcome['items']): BatchOutcome {
  const count = (wantedStatus: BatchItemOutcome['status']) =>
    items.filter(({ status }) => status === wantedStatus).length
  return { items, stored: count('stored'), known: count('known'), refused: count('refused') }
}

export const refuseItem = (violations: Violation[]): BatchItemOutcome => ({
  status: 'refused',
  error: new ServiceError('InvalidInput', { violations }),
})

export function toItemOutcome(
  outcome: BatchItemOutcome,
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
  const errors = itemViolations(error).map(({ path, message, ...violation }) => ({
    ...violation,
    path: `${place}.${index}${path && `.${path}`}`,
    message: `${path || 'The item'} ${message}.`,
  }))
  return { index, status, id: null, href: null, warnings: [], code: errorCode(error.error), errors }
}

/** Violations of an item. A plan that the caller may not write is a violation of `carePlanId`. */
function itemViolations({ error, violations }: ServiceError): readonly Violation[] {
  if (error !== 'NotFound' && error !== 'Forbidden') return violations
  const message =
    error === 'NotFound' ? 'must be a care plan of this EHR' : 'must be a care plan that the caller can write'
  return [{ path: 'carePlanId', code: errorCode(error), message }]
}
