import { Type } from '@sinclair/typebox'
import type { SavedComposition } from '../../../openehr/compositions/compositions.ts'
import {
  MAX_COMPOSITION_DEPTH,
  type SentComposition,
} from '../../../openehr/compositions/read-composition.ts'
import { startTimeOf, versionUidOf as uidOf } from '../../../records/compositions/composition-record.ts'
import { idField } from '../../../schemas/common.ts'
import {
  CanonicalComposition,
  CompositionChange,
  CompositionEntry,
  CompositionVersion,
  compositionIdField,
  LinkedCompositions,
  versionUidField,
} from '../../../schemas/openehr/composition.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { defineRestoreOperation } from '../../operation/record-operations.ts'
import { rawBody } from '../../reply/body-media.ts'
import { replyWith } from '../../reply/reply.ts'
import {
  COMPOSITION_TYPES,
  composeText,
  SIMPLIFIED_TYPES,
  simplifiedFormatOf,
} from './composition-formats.ts'

const compositionsSource = 'Endpoints, Medical data'
const compositionsPath = '/med/ehr/{ehrId}/composition'
const compositionPath = `${compositionsPath}/{compositionId}` as const
const compositionParams = { compositionId: compositionIdField }
const xmlBody = rawBody('application/xml', 'text/xml')
const compositionBodyLimits = { bytes: 4 * 1024 * 1024, depth: MAX_COMPOSITION_DEPTH, values: 200_000 }

const carePlanParameter = {
  carePlanId: Type.Optional(idField('the care plan in which the composition is registered')),
}
const versionParameters = {
  version_uid: Type.Optional(versionUidField),
  version_at_time: Type.Optional(
    Type.String({ format: 'date-time', description: 'Time: returns the version that was the latest then' }),
  ),
}

/** Response to the creation of a version. */
const toCreatedVersion = (composition: SavedComposition) => ({
  compositionId: composition.id,
  uid: uidOf(composition),
  ehrId: composition.ehrId,
})

/** The two formats of the paths: names and bodies. JSON may also be in the simplified formats. */
const COMPOSITION_FORMATS = [
  {
    format: 'json',
    name: 'Json',
    body: CanonicalComposition,
    alsoAs: SIMPLIFIED_TYPES,
    reply: rawBody('application/json', ...SIMPLIFIED_TYPES),
  },
  { format: 'xml', name: 'Xml', body: xmlBody, alsoAs: [], reply: xmlBody },
] as const

const templateParameter = {
  templateId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: `Id of the template, for a body in ${COMPOSITION_TYPES.flat} or ${COMPOSITION_TYPES.structured}; a replacement has that of the composition by default`,
      examples: ['vital_signs.v2'],
    }),
  ),
}

/** Only the simplified formats need it. */
const templateParameterFor = (format: CompositionFormat['format']) =>
  (format === 'json' ? templateParameter : {}) as typeof templateParameter

const sentComposition = (
  body: unknown,
  sentAs: string,
  { templateId }: { templateId?: string | undefined },
): SentComposition => {
  if (typeof body === 'object' && body !== null && 'bytes' in body && Buffer.isBuffer(body.bytes))
    return { xml: body.bytes }
  const format = simplifiedFormatOf(sentAs)
  return format ? { format, json: body, templateId } : { json: body }
}

type CompositionFormat = (typeof COMPOSITION_FORMATS)[number]

const addComposition = ({ format, name, body, alsoAs }: CompositionFormat) =>
  defineOperation({
    id: `addComposition${name}`,
    method: 'post',
    path: `${compositionsPath}/${format}`,
    summary: `Create a composition (${format.toUpperCase()})`,
    description:
      'Validates the composition against the reference model (400) and its template (422); the error names every violation with its path. In a care plan, the readers and writers of the plan can read and write the composition.',
    source: compositionsSource,
    access: 'plan:write',
    query: { ...carePlanParameter, ...templateParameterFor(format) },
    body,
    alsoAs,
    limits: compositionBodyLimits,
    reply: [201, CompositionVersion, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, query, body }, context) => {
      const { caller, compositions, newUuid, isRetry, sentAs } = context
      const parentIds = { ehrId, ...(query.carePlanId && { carePlanId: query.carePlanId }) }
      const input = sentComposition(body, sentAs, query)
      const composition = await compositions.create(caller, parentIds, input, { newUuid: newUuid(), isRetry })
      const version = uidOf(composition)
      return replyWith(toCreatedVersion(composition), {
        version,
        location: `/med/ehr/${ehrId}/composition/${composition.id}`,
      })
    },
  })

const getComposition = ({ format, name, reply }: CompositionFormat) =>
  defineOperation({
    id: `getComposition${name}`,
    method: 'get',
    path: `${compositionPath}/${format}`,
    params: compositionParams,
    query: versionParameters,
    summary: `Get a composition (${format.toUpperCase()})`,
    description:
      'Returns the latest or the requested version; 204 if the composition is deleted in that version.',
    source: compositionsSource,
    access: 'plan:read',
    reply: [200, reply, 'versioned'],
    gone: 'The composition is deleted in this version',
    handle: async ({ params: { ehrId, compositionId: uid }, query }, context) => {
      const { caller, compositions, accepted, isKnown } = context
      const version = { versionUid: query.version_uid, at: query.version_at_time }
      const isLatest = Object.values(version).every((one) => one === undefined)
      const knownUid = isLatest ? await compositions.findKnownUid(caller, { ehrId, uid }, isKnown) : undefined
      // XML has two media types, of which the response names the first.
      const type = format === 'xml' ? COMPOSITION_TYPES.xml : accepted
      const headers = { 'content-type': type, vary: 'Accept' }
      if (knownUid !== undefined) return replyWith('', { version: knownUid, headers })
      const composition = await compositions.get(caller, { ehrId, uid }, version)
      const gone = composition.json === undefined
      const text = await composeText(composition, type, context)
      return replyWith(text, { version: uidOf(composition), gone, ...(gone ? {} : { headers }) })
    },
  })

const replaceComposition = ({ format, name, body, alsoAs }: CompositionFormat) =>
  defineOperation({
    id: `updateComposition${name}`,
    method: 'put',
    path: `${compositionPath}/${format}`,
    params: compositionParams,
    summary: `Replace a composition (${format.toUpperCase()})`,
    source: compositionsSource,
    access: 'plan:write',
    ifMatch: 'required',
    query: templateParameterFor(format),
    body,
    alsoAs,
    limits: compositionBodyLimits,
    reply: [200, CompositionVersion, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId, compositionId: uid }, query, body }, context) => {
      const { caller, compositions, ifMatch, sentAs } = context
      const input = sentComposition(body, sentAs, query)
      const composition = await compositions.replace(caller, { ehrId, uid }, input, ifMatch)
      return replyWith(toCreatedVersion(composition), { version: uidOf(composition) })
    },
  })

export const compositionOperations = [
  defineListOperation({
    id: 'listCompositions',
    path: compositionsPath,
    summary: 'List the compositions of an EHR',
    description:
      'Returns the latest versions without their content, the latest start first. Deleted compositions are not in the list.',
    source: 'the compositions of an EHR, for people who look for one',
    extra: true,
    access: 'ehr:read',
    item: CompositionEntry,
    handle: async ({ params: { ehrId }, page }, { caller, compositions }) =>
      mapPage(await compositions.list(caller, ehrId, page), (composition) => ({
        compositionId: composition.id,
        uid: uidOf(composition),
        name: composition.name,
        templateId: composition.templateId,
        carePlanId: composition.carePlanId ?? null,
        updatedAt: composition.updatedAt,
        start: startTimeOf(composition) ?? null,
      })),
  }),
  ...COMPOSITION_FORMATS.flatMap((format) => [
    addComposition(format),
    getComposition(format),
    replaceComposition(format),
  ]),
  defineOperation({
    id: 'getLinkedCompositions',
    method: 'get',
    path: compositionPath,
    params: compositionParams,
    summary: 'Get the links of a composition',
    description: 'Returns the links of the composition, and links of other compositions of the EHR to it.',
    source: compositionsSource,
    access: 'plan:read',
    reply: [200, LinkedCompositions, 'versioned'],
    handle: async ({ params: { ehrId, compositionId: uid } }, { caller, compositions }) => {
      const { composition, links } = await compositions.getWithLinks(caller, { ehrId, uid })
      return replyWith({ uid: uidOf(composition), links }, { version: uidOf(composition) })
    },
  }),
  defineOperation({
    id: 'deleteComposition',
    method: 'delete',
    path: compositionPath,
    params: compositionParams,
    summary: 'Delete a composition',
    description:
      'Keeps all versions; the deletion becomes the latest one. A version in the path must be the latest.',
    source: compositionsSource,
    access: 'plan:write',
    reply: [204],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId, compositionId: uid } }, { caller, compositions, ifMatch }) => {
      await compositions.remove(caller, { ehrId, uid }, { expected: ifMatch })
    },
  }),
  defineListOperation({
    id: 'listCompositionVersions',
    path: `${compositionPath}/history`,
    params: compositionParams,
    summary: 'List the versions of a composition',
    description: 'Returns the versions with author and time, newest first.',
    source: 'the versions of a composition',
    extra: true,
    access: 'plan:read',
    item: CompositionChange,
    handle: async ({ params: { ehrId, compositionId: uid }, page }, { caller, compositions, profiles }) => {
      const { items, ...rest } = await compositions.history(caller, { ehrId, uid }, page)
      const versions = { ...rest, items: await profiles.persons.nameAuthors(caller, ehrId, items) }
      const [id = ''] = uid.split('::')
      return mapPage(versions, ({ version, before: _, changed: __, ...change }) => ({
        uid: uidOf({ id, version }),
        ...change,
      }))
    },
  }),
  defineRestoreOperation({
    id: 'restoreComposition',
    path: `${compositionPath}/restore`,
    params: compositionParams,
    one: 'a composition',
    description: 'A deleted composition returns. The content is validated against the template again.',
    source: 'the versions of a composition, and the way back',
    extra: true,
    access: 'plan:write',
    reply: CompositionVersion,
    errors: ['Conflict'],
    restore: async (params, version, { caller, compositions, ifMatch }) => {
      const { ehrId, compositionId } = params as { ehrId: string; compositionId: string }
      const key = { ehrId, uid: compositionId }
      const composition = await compositions.restore(caller, key, version, { expected: ifMatch })
      return replyWith(toCreatedVersion(composition), { version: uidOf(composition) })
    },
  }),
]
