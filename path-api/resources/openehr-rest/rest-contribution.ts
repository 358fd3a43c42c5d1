import { Type } from '@sinclair/typebox'
import { readContribution } from '../../../openehr/contributions/contribution.ts'
import type { CommittedContribution } from '../../../openehr/contributions/contributions.ts'
import type { RmObject } from '../../../openehr/rm/canonical-json.ts'
import { toContributionObject } from '../../../openehr/versions/versioned-object.ts'
import { defineOperation } from '../../operation/operation.ts'
import { describedBody } from '../../reply/body-media.ts'
import { toRestEhrId } from './shared/ehr-ids.ts'
import {
  EHR_PATH,
  ehrOperation,
  ehrParams,
  REST_PATH,
  rmBodyLimits,
  rmReply,
} from './shared/rest-operation.ts'
import { replyToChange, replyWithObject } from './shared/rest-reply.ts'

const CONTRIBUTIONS_PATH = `${EHR_PATH}/contribution` as const
const contributionReply = rmReply('CONTRIBUTION')

/** The data of its versions is described by the operations of compositions, statuses and directories. */
const contributionBody = describedBody(
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    required: ['versions', 'audit'],
    description:
      'CONTRIBUTION: `versions`, a list of ORIGINAL_VERSION with `data`, `commit_audit`, `lifecycle_state` and, except in a creation, `preceding_version_uid`; and its `audit`',
    properties: {
      versions: {
        type: 'array',
        minItems: 1,
        description: 'List of ORIGINAL_VERSION',
        items: { type: 'object', additionalProperties: true },
      },
      audit: { type: 'object', additionalProperties: true, description: 'AUDIT_DETAILS' },
    },
    examples: [{ versions: [{}], audit: {} }],
  }),
  'application/json',
)

/** The uid and the time of a contribution, for the headers. */
const headOf = ({ uid, audit }: CommittedContribution) => ({
  uid,
  updatedAt: String((audit.time_committed as RmObject).value),
})

export const restContributionOperations = [
  defineOperation({
    ...ehrOperation,
    id: 'commitContribution',
    method: 'post',
    path: CONTRIBUTIONS_PATH,
    summary: 'Commit several versions at once',
    description:
      'All versions are stored, or none: compositions, the status, the directory. A preceding version that is not the latest one gets a 409.',
    access: 'ehr:write',
    body: contributionBody,
    limits: { ...rmBodyLimits, depth: rmBodyLimits.depth + 3 },
    reply: [201, contributionReply, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId }, body }, context) => {
      const { caller, contributions, ehrStatuses, newUuid, isRetry } = context
      const input = readContribution(body.json)
      if (input.versions.some(({ type }) => type !== 'EHR_STATUS'))
        await ehrStatuses.requireModifiable(caller, ehrId)
      const contribution = await contributions.commit(caller, ehrId, input, { newUuid, isRetry })
      const location = `${REST_PATH}/ehr/${toRestEhrId(ehrId)}/contribution/${contribution.uid}`
      return replyToChange({ ...headOf(contribution), location, isNew: true }, context, () =>
        toContributionObject(contribution),
      )
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'getContribution',
    method: 'get',
    path: `${CONTRIBUTIONS_PATH}/{contributionId}`,
    params: {
      ...ehrParams,
      contributionId: Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}(::[0-9]{1,9})?$',
        description:
          'Uid of the contribution. That of a version committed alone is the uid of its object, `::` and its number',
        examples: ['7f1b9f1e-0c5a-4b7e-9c43-3f5f9b7f7a11'],
      }),
    },
    summary: 'Get a contribution',
    access: 'ehr:read',
    reply: [200, contributionReply, 'versioned'],
    handle: async ({ params: { ehrId, contributionId: uid } }, context) => {
      const contribution = await context.contributions.get(context.caller, ehrId, uid)
      return replyWithObject(toContributionObject(contribution), headOf(contribution), context)
    },
  }),
]
