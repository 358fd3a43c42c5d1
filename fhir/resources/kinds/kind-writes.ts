import { resolveRules } from '../../../records/ehr-records/kind.ts'
import { hasCapacityLimit } from '../../../records/ehr-records/refusals/capacity.ts'
import { auditRefusedCreation } from '../../../records/ehr-records/refusals/refusals.ts'
import { isContainerClass } from '../../../records/ehrs/deletion/cascading-deletion.ts'
import type { FieldValues } from '../../../records/fhir/fhir-element.ts'
import {
  elementPathOf,
  type FhirResource,
  locateAtElement,
  mappedFields,
} from '../../../records/fhir/mapping.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { Transaction } from '../../../records/store/writing/transaction.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { markedFieldNames } from '../../../schemas/forms/fields.ts'
import type { ResourceWrite } from '../../sources/resource-source.ts'
import { findOnlyOpenPlan, findPlanOfGoal, isReadableEhr } from '../patients-of-caller.ts'
import type { RecordWithMetadata } from '../render.ts'
import {
  changedNames,
  deletionInTransactionError,
  fieldsOf,
  mergeFields,
  requireValidResource,
} from '../sent-resource.ts'
import { type MappedKind, type ResourceStream, renderStream, type StreamSource } from './kind-streams.ts'
import type { RecordFinder } from './record-finder.ts'

/** Writes the resources of one type: creates, updates and deletes records and their parts. */
export class KindWrites {
  readonly #type: string
  readonly #source: StreamSource
  readonly #finder: RecordFinder

  constructor(type: string, source: StreamSource, finder: RecordFinder) {
    this.#type = type
    this.#source = source
    this.#finder = finder
  }

  async create(
    caller: Caller,
    resource: FhirResource,
    id: string,
    { tx, onDropped }: ResourceWrite,
  ): Promise<FhirResource> {
    const stream = this.#requireStream(resource)
    const { kind } = stream
    const fields = await this.#withPlan(caller, kind, fieldsOf(kind, resource), tx)
    const [status = ''] = markedFieldNames(kind.fields, 'status')
    const changedFields = Object.keys(fields)
    requireValidResource(await this.#kindFor(kind, fields), resource, fields, {
      id,
      changedFields,
      onDropped,
    })
    const { ehrId, carePlanId, goalId, [status]: sentStatus, ...body } = fields as Record<string, string>
    const parentIds = { ehrId: ehrId ?? '', ...(carePlanId && { carePlanId }), ...(goalId && { goalId }) }
    requireOpen(kind, status, sentStatus)
    const ehrRecords = this.#source.recordsOf(kind)
    const write = () =>
      tx
        ? auditRefusedCreation(this.#source.context, caller, kind.collection, parentIds.ehrId, () =>
            ehrRecords.createIn(caller, parentIds, body, id, tx),
          )
        : ehrRecords.create(caller, parentIds, body, id)
    return renderStream(stream, await this.#locateFaults(kind, write))
  }

  async update(
    caller: Caller,
    resourceId: string,
    resource: FhirResource,
    { expected, tx, onDropped }: ResourceWrite,
  ): Promise<FhirResource> {
    const { stream, record } = await this.#finder.find(caller, resourceId)
    const { id } = record
    const kind = { ...(await this.#kindFor(stream.kind, record)), fhir: stream.mapping }
    const [status = ''] = markedFieldNames(kind.fields, 'status')
    const closes = (fieldsOf(kind, resource)[status] ?? 'ACTIVE') !== 'ACTIVE'
    const apply = (before: FieldValues) => {
      const next = mergeFields(kind, before, resource)
      const changedFields = changedNames(before, next)
      requireValidResource(kind, resource, next, { id, changedFields, before, onDropped })
      requirePart(stream, next)
      return next
    }
    const ehrRecords = this.#source.recordsOf(kind)
    const write = () => ehrRecords.update(caller, id, { apply, closes }, { expected, tx })
    const update = this.#locateFaults(kind, write)
    return renderStream(stream, await update.catch(this.#goneIfDeleted(caller, resourceId)))
  }

  async remove(caller: Caller, resourceId: string, options: ResourceWrite): Promise<void> {
    const { stream, record } = await this.#finder.find(caller, resourceId)
    const removal = this.#removeFound(caller, stream, record, options)
    await removal.catch(this.#goneIfDeleted(caller, resourceId))
  }

  async #removeFound(
    caller: Caller,
    stream: ResourceStream,
    record: RecordWithMetadata,
    { expected, tx, isValidation }: ResourceWrite,
  ): Promise<void> {
    if (stream.suffix !== '') return this.#removePart(caller, stream, record, { expected, tx })
    const { id, ehrId } = record as RecordWithMetadata & { ehrId: string }
    const ehrRecords = this.#source.recordsOf(stream.kind)
    if (tx && !isValidation && isContainerClass(stream.kind.collection))
      throw deletionInTransactionError(this.#type)
    if (tx) await ehrRecords.store.remove(caller, { id } as never, { expected, tx })
    else await ehrRecords.remove(caller, { id, ehrId }, { expected })
  }

  /** A record that another request deletes between its read and its write is gone, like one deleted before. */
  #goneIfDeleted =
    (caller: Caller, resourceId: string) =>
    async (error: unknown): Promise<never> => {
      if (error instanceof ServiceError && error.error === 'NotFound')
        await this.#finder.find(caller, resourceId)
      throw error
    }

  /** Deletes the fields of a part. @throws RuleViolated if the record needs them */
  async #removePart(
    caller: Caller,
    stream: ResourceStream,
    { id }: RecordWithMetadata,
    conditions: Pick<ResourceWrite, 'expected' | 'tx'>,
  ): Promise<void> {
    const { kind, mapping } = stream
    const ownFields = fieldsOfPart(stream)
    const apply = (before: FieldValues) =>
      Object.fromEntries(Object.entries(before).filter(([name]) => !ownFields.includes(name)))
    const work = () => this.#source.recordsOf(kind).update(caller, id, { apply, closes: false }, conditions)
    await this.#locateFaults({ ...kind, fhir: mapping }, work)
  }

  /** Records of a kind with a limit or a natural key are compared with those before them, one after the other. */
  creationGroupOf(resource: FhirResource): string | undefined {
    const kind = this.#findStream(resource)?.kind
    return kind && !hasCapacityLimit(kind) && !kind.naturalKey ? kind.collection : undefined
  }

  /** The kind whose code the resource has; the resource type decides alone if it has one kind. */
  #findStream(resource: FhirResource): ResourceStream | undefined {
    const wholeStreams = this.#source.streams.filter(({ suffix }) => suffix === '')
    const [first, ...otherStreams] = wholeStreams
    const isMeant = ({ kind }: ResourceStream) => kind.fhir.isMeant?.(resource) ?? false
    return otherStreams.length === 0 ? first : wholeStreams.find(isMeant)
  }

  /** @throws RuleViolated for a code or a questionnaire that no kind has */
  #requireStream(resource: FhirResource): ResourceStream {
    const matchingStream = this.#findStream(resource)
    if (matchingStream) return matchingStream
    const element = this.#type === 'QuestionnaireResponse' ? 'questionnaire' : 'code'
    throw new ServiceError('RuleViolated', {
      violations: [
        {
          path: `${this.#type}.${element}`,
          code: 'not-supported',
          message: `must be a ${element} that this service stores`,
        },
      ],
    })
  }

  #kindFor = async (kind: MappedKind, values: FieldValues): Promise<MappedKind> =>
    (await resolveRules(this.#source.context, kind, values)) as MappedKind

  /**
   * The care plan that the resource implies: that of its goal, or the only open one of the patient.
   * @param tx the transaction of a Bundle, which creates the records of goals one by one
   */
  async #withPlan(
    caller: Caller,
    { fhir, parentType }: MappedKind,
    fields: FieldValues,
    tx: Transaction | undefined,
  ): Promise<FieldValues> {
    const isNeeded = parentType === 'plan' || parentType === 'goal'
    if (!isNeeded || fields.carePlanId !== undefined || typeof fields.ehrId !== 'string') return fields
    const { ehrId, goalId } = fields
    const carePlanId =
      typeof goalId === 'string'
        ? await findPlanOfGoal(this.#source.context, caller, { ehrId, goalId }, tx)
        : await findOnlyOpenPlan(this.#source.context, caller, ehrId)
    if (carePlanId !== undefined) return { ...fields, carePlanId }
    if (await isReadableEhr(this.#source.context, caller, ehrId)) return fields
    const message = 'must be that of a patient whose record you may read'
    throw new ServiceError('RuleViolated', {
      violations: [{ path: elementPathOf(fhir, 'ehrId'), code: 'patient', message }],
    })
  }

  /** Converts the paths of violations to those of the resource. */
  async #locateFaults<T>({ fhir }: MappedKind, write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof ServiceError) || error.error !== 'RuleViolated') throw error
      const isLocated = ({ path }: { path: string }) => path === fhir.type || path.startsWith(`${fhir.type}.`)
      const violations = error.violations.map((one) => (isLocated(one) ? one : locateAtElement(fhir, one)))
      throw new ServiceError('RuleViolated', { violations, cause: error })
    }
  }
}

/** @param name the name of the status field @throws RuleViolated for a new resource that is closed */
function requireOpen({ fhir }: MappedKind, name: string, status: string | undefined): void {
  if (status === undefined || status === 'ACTIVE') return
  const message = 'must be that of an open resource. Close it by an update'
  throw new ServiceError('RuleViolated', {
    violations: [{ path: elementPathOf(fhir, name), code: 'initial', message }],
  })
}

/** The fields of a record that only a part shows. */
function fieldsOfPart({ kind, mapping }: ResourceStream): string[] {
  const shared = mappedFields(kind.fhir)
  return mappedFields(mapping).filter((name) => !shared.includes(name))
}

/** Only a deletion removes the value of a part. @throws RuleViolated */
function requirePart(stream: ResourceStream, next: FieldValues): void {
  if (stream.isIn(next as unknown as RecordWithMetadata)) return
  const [field = ''] = fieldsOfPart(stream)
  const path = elementPathOf(stream.mapping, field)
  throw new ServiceError('RuleViolated', {
    violations: [{ path, code: 'required', message: 'is required. DELETE removes the part' }],
  })
}
