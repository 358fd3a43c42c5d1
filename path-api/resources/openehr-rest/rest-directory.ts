import { Type } from '@sinclair/typebox'
import { type SavedDirectory, toFolder } from '../../../openehr/directories/directories.ts'
import { folderAt } from '../../../openehr/directories/folders.ts'
import type { RmObject } from '../../../openehr/rm/canonical-json.ts'
import { parseVersionUid } from '../../../records/compositions/composition-record.ts'
import { defineOperation } from '../../operation/operation.ts'
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
} from './frame/rest-operation.ts'
import { changeOf, replyToChange, replyToDeletion, replyWithVersion } from './frame/rest-reply.ts'

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
      const directory = await directories.create(caller, ehrId, sentJson(body, 'FOLDER'), {
        newUuid: newUuid(),
        isRetry,
      })
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
    summary: 'Show the directory of an EHR, or a folder of it, at a time or the latest one',
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
    summary: 'Show a version of the directory of an EHR, or a folder of it',
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
      const directory = await directories.replace(caller, ehrId, sentJson(body, 'FOLDER'), ifMatchOf)
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
    handle: async ({ params: { ehrId } }, { caller, directories, ehrStatuses, ifMatchOf }) => {
      await ehrStatuses.requireModifiable(caller, ehrId)
      const directory = await directories.remove(caller, ehrId, ifMatchOf)
      return replyToDeletion(ehrId, 'directory', directory)
    },
  }),
]
