import { Type } from '@sinclair/typebox'
import type { SentVersion } from '../../../openehr/contributions/contribution.ts'
import { type SavedDirectory, toFolder } from '../../../openehr/directories/directories.ts'
import { folderAt } from '../../../openehr/directories/folders.ts'
import type { RmObject } from '../../../openehr/rm/canonical-json.ts'
import { parseVersionUid } from '../../../records/compositions/composition-record.ts'
import type { Context } from '../../operation/context.ts'
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
import { changeOf, replyToChange, replyToDeletion, replyWithVersion } from './shared/rest-reply.ts'

const DIRECTORY_PATH = `${EHR_PATH}/directory` as const
const folderBody = rmBody('FOLDER')
const folderReply = rmReply('FOLDER')

const pathQuery = {
  path: Type.Optional(
    Type.String({
      maxLength: 2000,
      description: 'Path of a folder in the directory: names, separated by slashes',
      examples: ['/emergency/episode'],
    }),
  ),
}

function replyWithFolder(directory: SavedDirectory, path: string | undefined, context: { accepted: string }) {
  const root = toFolder(directory)
  return replyWithVersion(root && folderAt(root, path ?? ''), directory, context)
}

/** Commits a version of the directory with the committal metadata of the client. */
async function commitDirectory(
  context: Context<'ehr:write'>,
  ehrId: string,
  change: Pick<SentVersion, 'preceding' | 'data'>,
): Promise<SavedDirectory> {
  await commitSingleVersion(context, ehrId, { type: 'FOLDER', ...change })
  return context.directories.get(context.caller, ehrId)
}

/** The version that a commit with metadata replaces; undefined without metadata, or if If-Match names none. */
async function precedingVersionOf(context: Context<'ehr:write'>, ehrId: string) {
  const latest = hasClientAudit(context) && (await context.directories.findLatest(context.caller, ehrId))
  const [version] = (latest && context.ifMatchOf(latest.id)) || []
  return latest && version !== undefined ? { id: latest.id, version } : undefined
}

export const restDirectoryOperations = [
  defineOperation({
    ...ehrOperation,
    id: 'createDirectory',
    method: 'post',
    path: DIRECTORY_PATH,
    summary: 'Create the directory of an EHR',
    access: 'ehr:write',
    body: folderBody,
    limits: rmBodyLimits,
    reply: [201, folderReply, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId }, body }, context) => {
      const { caller, directories, ehrStatuses, newUuid, isRetry } = context
      await ehrStatuses.requireModifiable(caller, ehrId)
      const json = sentJson(body, 'FOLDER')
      const directory = hasClientAudit(context)
        ? await commitDirectory(context, ehrId, { preceding: undefined, data: { json } })
        : await directories.create(caller, ehrId, json, { newUuid: newUuid(), isRetry })
      const change = changeOf(ehrId, 'directory', directory, true)
      return replyToChange(change, context, () => toFolder(directory) as RmObject)
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'getDirectory',
    method: 'get',
    path: DIRECTORY_PATH,
    query: { ...atTimeQuery, ...pathQuery },
    summary: 'Get the directory of an EHR, or a folder of it, at a time or the latest one',
    access: 'ehr:read',
    reply: [200, folderReply, 'versioned'],
    gone: 'The directory is deleted in this version',
    handle: async ({ params: { ehrId }, query }, context) => {
      const at = parseVersionTime(query.version_at_time)
      const directory = await context.directories.get(context.caller, ehrId, { at })
      return replyWithFolder(directory, query.path, context)
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'getDirectoryVersion',
    method: 'get',
    path: `${DIRECTORY_PATH}/{versionUid}`,
    params: { ...ehrParams, versionUid: restVersionUidField },
    query: pathQuery,
    summary: 'Get a version of the directory of an EHR, or a folder of it',
    access: 'ehr:read',
    reply: [200, folderReply, 'versioned'],
    gone: 'The directory is deleted in this version',
    handle: async ({ params: { ehrId, versionUid }, query }, context) => {
      const directory = await context.directories.get(context.caller, ehrId, parseVersionUid(versionUid))
      return replyWithFolder(directory, query.path, context)
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'updateDirectory',
    method: 'put',
    path: DIRECTORY_PATH,
    summary: 'Replace the directory of an EHR',
    access: 'ehr:write',
    ifMatch: 'required',
    body: folderBody,
    limits: rmBodyLimits,
    reply: [200, folderReply, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId }, body }, context) => {
      const { caller, directories, ehrStatuses, ifMatchOf } = context
      await ehrStatuses.requireModifiable(caller, ehrId)
      const json = sentJson(body, 'FOLDER')
      const preceding = await precedingVersionOf(context, ehrId)
      const directory = preceding
        ? await commitDirectory(context, ehrId, { preceding, data: { json } })
        : await directories.replace(caller, ehrId, json, ifMatchOf)
      return replyToChange(
        changeOf(ehrId, 'directory', directory),
        context,
        () => toFolder(directory) as RmObject,
      )
    },
  }),
  defineOperation({
    ...ehrOperation,
    id: 'deleteDirectory',
    method: 'delete',
    path: DIRECTORY_PATH,
    summary: 'Delete the directory of an EHR',
    description: 'All versions stay.',
    access: 'ehr:write',
    ifMatch: 'required',
    reply: [204],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId } }, context) => {
      const { caller, directories, ehrStatuses, ifMatchOf } = context
      await ehrStatuses.requireModifiable(caller, ehrId)
      const preceding = await precedingVersionOf(context, ehrId)
      const directory = preceding
        ? await commitDirectory(context, ehrId, { preceding, data: undefined })
        : await directories.remove(caller, ehrId, ifMatchOf)
      return replyToDeletion(ehrId, 'directory', directory)
    },
  }),
]
