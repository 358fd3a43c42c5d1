import type { RmObject } from '../../../../openehr/rm/canonical-json.ts'
import { toOriginalVersion, type VersionAuthorship } from '../../../../openehr/versions/original-version.ts'
import { toRevisionHistory, toVersionedObject } from '../../../../openehr/versions/versioned-object.ts'
import { parseVersionUid } from '../../../../records/compositions/composition-record.ts'
import type { PageRequest } from '../../../../records/store/reading/pages.ts'
import { withArticle } from '../../../../schemas/common.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import type { Context } from '../../../operation/context.ts'
import { defineOperation } from '../../../operation/operation.ts'
import { toRestEhrId } from '../shared/ehr-ids.ts'
import {
  atTimeQuery,
  EHR_PATH,
  ehrOperation,
  ehrParams,
  objectUidField,
  parseVersionTime,
  restVersionUidField,
  rmReply,
} from '../shared/rest-operation.ts'
import { replyWithObject, replyWithVersion, uidOf } from '../shared/rest-reply.ts'

type ReadContext = Context<'ehr:read'>
type Change = VersionAuthorship & { version: number }

/** A version of an object; without data if it is deleted in it. */
interface ReadVersion {
  id: string
  version: number
  createdAt: string
  updatedAt: string
  data: RmObject | undefined
}

/** The reader of the versions of a kind of object. */
export interface VersionedResource {
  /** Class of the data. */
  type: 'COMPOSITION' | 'EHR_STATUS'
  path: string
  /** `Composition`, in ids and summaries of operations. */
  noun: string
  access: 'ehr:read' | 'plan:read'
  /** Whether the path names the object. */
  isNamed: boolean
  read(
    context: ReadContext,
    ehrId: string,
    objectId: string,
    selector: { version?: number | undefined; at?: string | undefined },
  ): Promise<ReadVersion>
  changes(
    context: ReadContext,
    ehrId: string,
    objectId: string,
    page: PageRequest,
  ): Promise<{ items: readonly Change[]; next: string | null }>
}

/** All changes, oldest first. */
async function allChanges(
  { changes }: VersionedResource,
  ...[context, ehrId, objectId]: [ReadContext, string, string]
): Promise<Change[]> {
  const newestFirst: Change[] = []
  let cursor: string | undefined
  do {
    const page = await changes(context, ehrId, objectId, { limit: 1000, cursor })
    newestFirst.push(...page.items)
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return newestFirst.reverse()
}

/** Shows a version as an ORIGINAL_VERSION, with its contribution. */
async function replyWithOriginalVersion(
  resource: VersionedResource,
  context: ReadContext,
  ehrId: string,
  version: ReadVersion,
) {
  const changes = await allChanges(resource, context, ehrId, version.id)
  const commit = changes.find((change) => change.version === version.version)
  const plain = toOriginalVersion(version, commit)
  const object = await context.contributions.addClientAudit(ehrId, version, {
    ...plain,
    ...(version.data && { data: version.data }),
  })
  return replyWithVersion(object, version, context)
}

/** The operations on the versions of an object: itself, its history, and its versions by time and by uid. */
export const versionOperations = (resource: VersionedResource) => [
  ...objectOperations(resource),
  ...singleVersionOperations(resource),
]

/** The common part of the operations. */
const partsOf = ({ path, noun, access, isNamed }: VersionedResource) => ({
  path: `${EHR_PATH}${path}` as const,
  params: { ...ehrParams, ...(isNamed && { objectId: objectUidField(noun) }) },
  common: { ...ehrOperation, method: 'get', access } as const,
})

const objectIdIn = (input: object): string => (input as { objectId?: string }).objectId ?? ''

function objectOperations(resource: VersionedResource) {
  const { type, noun, read } = resource
  const { path, params, common } = partsOf(resource)
  return [
    defineOperation({
      ...common,
      id: `getVersioned${noun}`,
      path,
      params,
      summary: `Get the versioned object of ${withArticle(type)}`,
      reply: [200, rmReply(`VERSIONED_${type}`), 'versioned'],
      handle: async ({ params: pathParameters }, context) => {
        const { ehrId } = pathParameters
        const latest = await read(context, ehrId, objectIdIn(pathParameters), {})
        const object = toVersionedObject(type, { ...latest, ehrId: toRestEhrId(ehrId) })
        return replyWithVersion(object, latest, context)
      },
    }),
    defineOperation({
      ...common,
      id: `get${noun}RevisionHistory`,
      path: `${path}/revision_history`,
      params,
      summary: `Get the revision history of ${withArticle(type)}`,
      description: 'The most recent version is the last one.',
      reply: [200, rmReply('REVISION_HISTORY'), 'versioned'],
      handle: async ({ params: pathParameters }, context) => {
        const latest = await read(context, pathParameters.ehrId, objectIdIn(pathParameters), {})
        const changes = await allChanges(resource, context, pathParameters.ehrId, latest.id)
        const uids = changes.map(({ version }) => uidOf({ id: latest.id, version }))
        const clientAudits = await context.contributions.findClientAudits(pathParameters.ehrId, uids)
        const history = toRevisionHistory(latest.id, changes, clientAudits)
        return replyWithObject(history, { uid: uidOf(latest), updatedAt: latest.updatedAt }, context)
      },
    }),
  ]
}

function singleVersionOperations(resource: VersionedResource) {
  const { type, noun, isNamed, read } = resource
  const { path, params, common } = partsOf(resource)
  return [
    defineOperation({
      ...common,
      id: `get${noun}VersionAtTime`,
      path: `${path}/version`,
      params,
      query: atTimeQuery,
      summary: `Get the version of ${withArticle(type)} at a time, by default the latest one`,
      reply: [200, rmReply('ORIGINAL_VERSION'), 'versioned'],
      handle: async ({ params: pathParameters, query }, context) => {
        const at = parseVersionTime(query.version_at_time)
        const version = await read(context, pathParameters.ehrId, objectIdIn(pathParameters), { at })
        return replyWithOriginalVersion(resource, context, pathParameters.ehrId, version)
      },
    }),
    defineOperation({
      ...common,
      id: `get${noun}Version`,
      path: `${path}/version/{versionUid}`,
      params: { ...params, versionUid: restVersionUidField },
      summary: `Get a version of ${withArticle(type)}`,
      reply: [200, rmReply('ORIGINAL_VERSION'), 'versioned'],
      errors: ['IdMismatch'],
      handle: async ({ params: pathParameters }, context) => {
        const { id, version } = parseVersionUid(pathParameters.versionUid)
        const latest = await read(context, pathParameters.ehrId, objectIdIn(pathParameters), {})
        if (id.toLowerCase() !== latest.id.toLowerCase())
          throw isNamed ? mismatchError() : new ServiceError('NotFound')
        const requestedVersion = await read(context, pathParameters.ehrId, latest.id, { version })
        return replyWithOriginalVersion(resource, context, pathParameters.ehrId, requestedVersion)
      },
    }),
  ]
}

const mismatchError = () =>
  new ServiceError('IdMismatch', {
    violations: [{ path: 'versionUid', code: 'idMismatch', message: 'must be of the object in the path' }],
  })
