import { toRmObject } from '../../../openehr/compositions/composition-json.ts'
import { deletedCompositionError } from '../../../openehr/compositions/compositions.ts'
import type { SentComposition } from '../../../openehr/compositions/read-composition.ts'
import { parseVersionUid } from '../../../records/compositions/composition-record.ts'
import type { RecordParent } from '../../../records/store/writing/batch-writer.ts'
import { compositionIdField } from '../../../schemas/openehr/composition.ts'
import { defineOperation } from '../../operation/operation.ts'
import type { RawContent } from '../../reply/body-media.ts'
import { composeText, SIMPLIFIED_TYPES, simplifiedFormatOf } from '../openehr/composition-formats.ts'
import { commitSingleVersion, hasClientAudit } from './shared/client-audit.ts'
import {
  atTimeQuery,
  EHR_PATH,
  ehrOperation,
  ehrParams,
  objectUidField,
  parseVersionTime,
  restVersionUidField,
  rmBody,
  rmBodyLimits,
  rmReply,
} from './shared/rest-operation.ts'
import {
  changeOf,
  replyToChange,
  replyToDeletion,
  replyWithObject,
  replyWithVersion,
  uidOf,
} from './shared/rest-reply.ts'
import { versionOperations } from './shared/rest-versions.ts'

const COMPOSITIONS_PATH = `${EHR_PATH}/composition` as const
const compositionBody = rmBody('COMPOSITION', ...SIMPLIFIED_TYPES)
const compositionReply = rmReply('COMPOSITION', ...SIMPLIFIED_TYPES)

function sentComposition({ type, bytes, json }: RawContent, templateId: string | undefined): SentComposition {
  if (type.endsWith('xml')) return { xml: bytes }
  const format = simplifiedFormatOf(type)
  return format ? { format, json, templateId } : { json: json ?? undefined }
}

export const restCompositionOperations = [
  defineOperation({
    ...ehrOperation,
    id: 'createRestComposition',
    method: 'post',
    path: COMPOSITIONS_PATH,
    summary: 'Create a composition',
    description:
      'A violation of the reference model is a 400, one of the template a 422; the error names all of them.',
    access: 'ehr:write',
    body: compositionBody,
    limits: rmBodyLimits,
    reply: [201, compositionReply, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, body }, context) => {
      const { caller, compositions, ehrStatuses, newUuid, isRetry, accepted, templateId } = context
      const input = sentComposition(body, templateId)
      const create = () => {
        const restrict = (target: RecordParent) => ehrStatuses.whenModifiable(target)
        return compositions.create(caller, { ehrId }, input, { newUuid: newUuid(), isRetry, restrict })
      }
      const commitWithClientAudit = async () => {
        await ehrStatuses.requireModifiable(caller, ehrId)
        const version = { type: 'COMPOSITION', preceding: undefined, data: input } as const
        const { versions } = await commitSingleVersion(context, ehrId, version)
        return compositions.get(caller, { ehrId, uid: versions[0]?.uid ?? '' })
      }
      const composition = await (hasClientAudit(context) ? commitWithClientAudit() : create())
      const change = changeOf(ehrId, 'composition', composition, true)
      return replyToChange(change, context, () => composeText(composition, accepted, context))
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'getRestComposition',
    method: 'get',
    path: `${COMPOSITIONS_PATH}/{compositionId}`,
    params: { ...ehrParams, compositionId: compositionIdField },
    query: atTimeQuery,
    summary: 'Get a composition: a version, the one at a time, or the latest one',
    access: 'plan:read',
    reply: [200, compositionReply, 'versioned'],
    gone: 'The composition is deleted in this version',
    handle: async ({ params: { ehrId, compositionId: uid }, query }, context) => {
      const { caller, compositions, accepted, isKnown } = context
      const at = parseVersionTime(query.version_at_time)
      const knownUid = at === undefined && (await compositions.findKnownUid(caller, { ehrId, uid }, isKnown))
      if (knownUid) return replyWithObject('', { uid: knownUid }, context)
      const composition = await compositions.get(caller, { ehrId, uid }, { at })
      const text = composition.json && (await composeText(composition, accepted, context))
      return replyWithVersion(text, composition, context)
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'updateRestComposition',
    method: 'put',
    path: `${COMPOSITIONS_PATH}/{compositionId}`,
    params: { ...ehrParams, compositionId: objectUidField('composition') },
    summary: 'Replace a composition',
    access: 'plan:write',
    ifMatch: 'required',
    body: compositionBody,
    limits: rmBodyLimits,
    reply: [200, compositionReply, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId, compositionId: id }, body }, context) => {
      const { caller, compositions, ehrStatuses, ifMatchOf, accepted, templateId } = context
      await ehrStatuses.requireModifiable(caller, ehrId)
      const expected = ifMatchOf(id)
      const [version] = expected ?? []
      const input = sentComposition(body, templateId)
      const composition =
        hasClientAudit(context) && version !== undefined
          ? await commitSingleVersion(context, ehrId, {
              type: 'COMPOSITION',
              preceding: { id, version },
              data: input,
            }).then(() => compositions.get(caller, { ehrId, uid: id }))
          : await compositions.replace(caller, { ehrId, uid: id }, input, expected)
      const change = changeOf(ehrId, 'composition', composition)
      return replyToChange(change, context, () => composeText(composition, accepted, context))
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'deleteRestComposition',
    method: 'delete',
    path: `${COMPOSITIONS_PATH}/{compositionId}`,
    params: { ...ehrParams, compositionId: restVersionUidField },
    summary: 'Delete a composition',
    description: 'The path names its latest version. All versions stay.',
    access: 'plan:write',
    reply: [204],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId, compositionId: uid } }, context) => {
      const { caller, compositions, ehrStatuses, ifMatchOf } = context
      await ehrStatuses.requireModifiable(caller, ehrId)
      const { id, version } = parseVersionUid(uid)
      const expected = ifMatchOf(id)
      // The plain deletion refuses an If-Match with another version.
      const isExpected = version !== undefined && (expected?.includes(version) ?? true)
      if (!hasClientAudit(context) || !isExpected) {
        const options = { expected, deletedError: deletedCompositionError }
        const composition = await compositions.remove(caller, { ehrId, uid }, options)
        return replyToDeletion(ehrId, 'composition', composition)
      }
      const preceding = { id, version }
      await commitSingleVersion(context, ehrId, { type: 'COMPOSITION', preceding, data: undefined })
      return replyToDeletion(ehrId, 'composition', { id, version: version + 1 })
    },
  }),
  ...versionOperations({
    type: 'COMPOSITION',
    path: '/versioned_composition/{objectId}',
    noun: 'Composition',
    access: 'plan:read',
    isNamed: true,
    read: async ({ caller, compositions }, ehrId, id, { version, at }) => {
      const versionUid = version === undefined ? undefined : uidOf({ id, version })
      const composition = await compositions.get(caller, { ehrId, uid: id }, { versionUid, at })
      return { ...composition, data: toRmObject(composition) }
    },
    changes: ({ caller, compositions }, ehrId, uid, page) =>
      compositions.history(caller, { ehrId, uid }, page),
  }),
]
