import { withVersionUid } from '../../../openehr/versions/read-version.ts'
import { parseVersionUid } from '../../../records/compositions/composition-record.ts'
import { statusIdOf } from '../../../records/compositions/ehr-status-record.ts'
import { defineOperation } from '../../operation/operation.ts'
import { commitSingleVersion, hasClientAudit } from './shared/client-audit.ts'
import {
  atTimeQuery,
  EHR_PATH,
  ehrOperation,
  ehrParams,
  parseVersionTime,
  restVersionUidField,
  rmBody,
  rmBodyLimits,
  rmReply,
  sentJson,
} from './shared/rest-operation.ts'
import { changeOf, replyToChange, replyWithVersion } from './shared/rest-reply.ts'
import { versionOperations } from './shared/rest-versions.ts'

const STATUS_PATH = `${EHR_PATH}/ehr_status` as const
const statusReply = rmReply('EHR_STATUS')

export const restEhrStatusOperations = [
  defineOperation({
    ...ehrOperation,
    id: 'getRestEhrStatus',
    method: 'get',
    path: STATUS_PATH,
    query: atTimeQuery,
    summary: 'Get the status of an EHR, at a time or the latest one',
    access: 'ehr:read',
    reply: [200, statusReply, 'versioned'],
    handle: async ({ params: { ehrId }, query }, context) => {
      const at = parseVersionTime(query.version_at_time)
      const status = await context.ehrStatuses.get(context.caller, ehrId, { at })
      return replyWithVersion(status.object, status, context)
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'getRestEhrStatusVersion',
    method: 'get',
    path: `${STATUS_PATH}/{versionUid}`,
    params: { ...ehrParams, versionUid: restVersionUidField },
    summary: 'Get a version of the status of an EHR',
    access: 'ehr:read',
    reply: [200, statusReply, 'versioned'],
    handle: async ({ params: { ehrId, versionUid } }, context) => {
      const { id, version } = parseVersionUid(versionUid)
      const selector = { version: id === statusIdOf(ehrId) ? version : 0 }
      const status = await context.ehrStatuses.get(context.caller, ehrId, selector)
      return replyWithVersion(status.object, status, context)
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'updateRestEhrStatus',
    method: 'put',
    path: STATUS_PATH,
    summary: 'Replace the status of an EHR',
    access: 'ehr:write',
    ifMatch: 'required',
    body: rmBody('EHR_STATUS'),
    limits: rmBodyLimits,
    reply: [200, statusReply, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, body }, context) => {
      const { caller, ehrStatuses, ifMatchOf } = context
      const id = statusIdOf(ehrId)
      const expected = ifMatchOf(id)
      const json = sentJson(body, 'EHR_STATUS')
      const [version] = expected ?? []
      const status =
        hasClientAudit(context) && version !== undefined
          ? await commitSingleVersion(context, ehrId, {
              type: 'EHR_STATUS',
              preceding: { id, version },
              data: { json },
            }).then(() => ehrStatuses.get(caller, ehrId))
          : await withVersionUid(id, () => ehrStatuses.replace(caller, ehrId, json, expected))
      return replyToChange(changeOf(ehrId, 'ehr_status', status), context, () => status.object)
    },
  }),
  ...versionOperations({
    type: 'EHR_STATUS',
    path: '/versioned_ehr_status',
    noun: 'EhrStatus',
    access: 'ehr:read',
    isNamed: false,
    read: async ({ caller, ehrs, ehrStatuses }, ehrId, _, selector) => {
      const { object: data, ...status } = await ehrStatuses.get(caller, ehrId, selector)
      const { createdAt } = await ehrs.get(caller, ehrId)
      return { ...status, createdAt, data }
    },
    changes: ({ caller, ehrStatuses }, ehrId, _, page) => ehrStatuses.history(caller, ehrId, page),
  }),
]
