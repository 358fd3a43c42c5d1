import { Type } from '@sinclair/typebox'
import { subjectIdOf } from '../../../openehr/ehr-status/subject.ts'
import { toEhrObject } from '../../../openehr/versions/versioned-object.ts'
import type { StoredEhr } from '../../../records/ehrs/ehrs.ts'
import { ehrRole } from '../../../records/ehrs/rights/access.ts'
import type { Caller, Permissions } from '../../../records/store/documents/caller.ts'
import { createOrFindExisting } from '../../../records/store/writing/create-or-find-existing.ts'
import type { Transaction } from '../../../records/store/writing/transaction.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { isUuid } from '../../../schemas/validation/uuid.ts'
import type { Context } from '../../operation/context.ts'
import { defineOperation } from '../../operation/operation.ts'
import type { Services } from '../../operation/services.ts'
import type { RawContent } from '../../reply/body-media.ts'
import { InvalidInput, locateViolation } from '../../reply/invalid-input.ts'
import { hasClientAudit, readClientAudit } from './shared/client-audit.ts'
import { isReserved, toRestEhrId } from './shared/ehr-ids.ts'
import {
  EHR_PATH,
  ehrOperation,
  REST_PATH,
  restOperation,
  rmBody,
  rmBodyLimits,
  rmReply,
  sentJson,
} from './shared/rest-operation.ts'
import { replyToChange, replyWithObject } from './shared/rest-reply.ts'

const EHRS_PATH = `${REST_PATH}/ehr` as const
const statusBody = rmBody('EHR_STATUS')
const ehrReply = rmReply('EHR')

const createDescription =
  'The body may contain the EHR_STATUS. Without one, or with one that names no subject, the EHR of a user is about this user, that of a connected system about an unnamed person. A caller has one EHR about each subject.'

/** The EHR of the reference model, for a caller who may read it. */
async function toRestEhr(
  { ehrStatuses, directories }: Pick<Services, 'ehrStatuses' | 'directories'>,
  caller: Caller,
  { id, createdAt }: StoredEhr,
) {
  const status = await ehrStatuses.get(caller, id)
  const directory = await directories.findLatest(caller, id)
  return toEhrObject({ id: toRestEhrId(id), createdAt, status, directory })
}

/** The creator of an EHR, whose session may not have the role of its writers yet. */
const asWriter = (caller: Caller, ehrId: string): Caller => ({
  ...caller,
  roles: [...caller.roles, ehrRole(ehrId, 'write')],
})

/** The ETag of an EHR is its id, whatever its status and directory are. */
const replyWithEhr = async (context: Context<'account'>, ehr: StoredEhr) =>
  replyWithObject(
    await toRestEhr(context, context.caller, ehr),
    { uid: toRestEhrId(ehr.id), isConstant: true },
    context,
  )

const subjectText = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 200, description, examples: [example] })

/** @throws InvalidInput for an id that a client cannot choose */
function requireFreeId(id: string): void {
  if (isUuid(id) && !isReserved(id)) return
  const violation = {
    path: 'ehrId',
    code: 'uuid',
    message: 'must be a UUID that this service has not reserved',
  }
  throw new InvalidInput([locateViolation('path')(violation)])
}

/** Creates an EHR with its status, and with the audit that the client sent in headers. */
function createWithClientAudit(
  context: Context<'account'>,
  ehrId: string,
  body: RawContent,
): Promise<StoredEhr> {
  const { caller, commitDetails, contributions, ehrStatuses, newUuid } = context
  const change = { preceding: undefined, data: { json: undefined } }
  const clientAudit = hasClientAudit(context) ? readClientAudit(commitDetails, change) : undefined
  const storeAudit =
    clientAudit &&
    ((tx: Transaction, permissions: Permissions) =>
      contributions.storeFirstStatusAudit(
        caller,
        { ehrId, id: newUuid(), ...clientAudit },
        { tx, permissions },
      ))
  return ehrStatuses.createOnly(caller, ehrId, sentJson(body, 'EHR_STATUS'), storeAudit)
}

export const restEhrOperations = [
  defineOperation({
    ...restOperation,
    id: 'createRestEhr',
    method: 'post',
    path: EHRS_PATH,
    summary: 'Create an EHR',
    description: createDescription,
    access: 'account',
    body: statusBody,
    limits: rmBodyLimits,
    reply: [201, ehrReply, 'versioned'],
    errors: ['Conflict', 'RuleViolated'],
    handle: async ({ body }, context) => {
      const { caller, ehrs, newUuid } = context
      const id = newUuid()
      const ehr = await createOrFindExisting(
        () => createWithClientAudit(context, id, body),
        () => ehrs.get(caller, id),
      )
      return replyToChange({ uid: id, location: `${EHRS_PATH}/${id}`, isNew: true }, context, () =>
        toRestEhr(context, asWriter(caller, id), ehr),
      )
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'createRestEhrWithId',
    method: 'put',
    path: EHR_PATH,
    summary: 'Create an EHR with an id',
    description: createDescription,
    access: 'ehr:create',
    creates: true,
    body: statusBody,
    limits: rmBodyLimits,
    reply: [201, ehrReply, 'versioned'],
    errors: ['Conflict', 'RuleViolated'],
    handle: async ({ params, body }, context) => {
      const { caller } = context
      const { ehrId: id } = params
      requireFreeId(id)
      if (context.ifMatchOf(id) !== undefined) throw new ServiceError('PreconditionFailed')
      const ehr = await createWithClientAudit(context, id, body)
      return replyToChange({ uid: id, location: `${EHRS_PATH}/${id}`, isNew: true }, context, () =>
        toRestEhr(context, asWriter(caller, id), ehr),
      )
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'getRestEhr',
    method: 'get',
    path: EHR_PATH,
    summary: 'Get an EHR',
    access: 'ehr:read',
    reply: [200, ehrReply, 'versioned'],
    handle: async ({ params: { ehrId } }, context) => {
      const { caller, ehrs } = context
      const ehr = await ehrs.get(caller, ehrId)
      return replyWithEhr(context, ehr)
    },
  }),
  defineOperation({
    ...restOperation,
    id: 'findRestEhr',
    method: 'get',
    path: EHRS_PATH,
    query: {
      subject_id: subjectText('Id of the subject', 'n4Fq2LxT0a'),
      subject_namespace: subjectText(
        'Namespace of the id; users have the system id of the service',
        'hrs.local',
      ),
    },
    summary: 'Get the EHR about a subject',
    description: 'Finds only EHRs that the caller may read, the newest one first.',
    access: 'user',
    reply: [200, ehrReply, 'versioned'],
    errors: ['NotFound'],
    handle: async ({ query: { subject_id: id, subject_namespace: namespace } }, context) => {
      const { caller, ehrs } = context
      const ehr = await ehrs.findAboutSubject(caller, subjectIdOf({ id, namespace }))
      return replyWithEhr(context, ehr)
    },
  }),
]
