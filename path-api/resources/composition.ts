import { Type } from '@sinclair/typebox'
import { versionUid as uidOf } from '../../records/openehr/composition-record.ts'
import { objectOf, type SavedComposition } from '../../records/openehr/compositions/compositions.ts'
import { DEPTH, type Sent } from '../../records/openehr/compositions/reading.ts'
import { xmlOf } from '../../records/openehr/rm/in-xml.ts'
import { id } from '../../schemas/common.ts'
import {
  CanonicalComposition,
  CompositionChange,
  CompositionVersion,
  compositionId,
  LinkedCompositions,
  versionUid,
} from '../../schemas/composition.ts'
import { answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, Medical data'
const base = '/med/ehr/{ehrId}/composition'
const one = `${base}/{compositionId}` as const
const params = { compositionId }
const xml = raw('application/xml', 'text/xml')
const limits = { bytes: 4 * 1024 * 1024, depth: DEPTH, values: 200_000 }

const plan = { carePlanId: Type.Optional(id('the care plan that it is registered in')) }
const which = {
  version_uid: Type.Optional(versionUid),
  version_at_time: Type.Optional(
    Type.String({ format: 'date-time', description: 'The version that was the latest one at this moment' }),
  ),
}

/** A version as those see it who have made it. */
const madeOf = (made: SavedComposition) => ({ compositionId: made.id, uid: uidOf(made), ehrId: made.ehrId })

const inXml = (saved: SavedComposition): string => {
  const object = objectOf(saved)
  return object ? xmlOf(object, 'composition') : ''
}

const inJson = (saved: SavedComposition): string => JSON.stringify(objectOf(saved))

/** What differs between the two formats: their names, their bodies and how a composition is written. */
const formats = [
  {
    format: 'json',
    name: 'Json',
    body: CanonicalComposition,
    reply: raw('application/json'),
    textOf: inJson,
  },
  { format: 'xml', name: 'Xml', body: xml, reply: xml, textOf: inXml },
] as const

const sentIn = (body: unknown): Sent =>
  typeof body === 'object' && body !== null && 'bytes' in body && Buffer.isBuffer(body.bytes)
    ? { xml: body.bytes }
    : { json: body }

type Format = (typeof formats)[number]

const adding = ({ format, name, body }: Format) =>
  operation({
    id: `addComposition${name}`,
    method: 'post',
    path: `${base}/${format}`,
    summary: `Store a composition (${format.toUpperCase()})`,
    description:
      'Validated against the reference model (400) and its template (422): the answer names every violation with its path. In a care plan, those who read and write the plan read and write it.',
    source,
    access: 'plan:write',
    query: plan,
    body,
    limits,
    reply: [201, CompositionVersion, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, query, body }, { caller, compositions, newUuid, again }) => {
      const place = { ehrId, ...(query.carePlanId && { carePlanId: query.carePlanId }) }
      const made = await compositions.create(caller, place, sentIn(body), { newUuid: newUuid(), again })
      const version = uidOf(made)
      return answer(madeOf(made), { version, location: `/med/ehr/${ehrId}/composition/${made.id}` })
    },
  })

const showing = ({ format, name, reply, textOf }: Format) =>
  operation({
    id: `getComposition${name}`,
    method: 'get',
    path: `${one}/${format}`,
    params,
    query: which,
    summary: `Show a composition (${format.toUpperCase()})`,
    description: 'The latest version, or the requested one; 204 when it is deleted in that version.',
    source,
    access: 'plan:read',
    reply: [200, reply, 'versioned'],
    gone: 'The composition is deleted in that version',
    handle: async ({ params: { ehrId, compositionId: uid }, query }, { caller, compositions }) => {
      const version = { versionUid: query.version_uid, at: query.version_at_time }
      const found = await compositions.get(caller, { ehrId, uid }, version)
      return answer(textOf(found) ?? '', { version: uidOf(found), gone: found.json === undefined })
    },
  })

const replacing = ({ format, name, body }: Format) =>
  operation({
    id: `updateComposition${name}`,
    method: 'put',
    path: `${one}/${format}`,
    params,
    summary: `Replace a composition (${format.toUpperCase()})`,
    source,
    access: 'plan:write',
    ifMatch: 'required',
    body,
    limits,
    reply: [200, CompositionVersion, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId, compositionId: uid }, body }, { caller, compositions, expected }) => {
      const made = await compositions.replace(caller, { ehrId, uid }, sentIn(body), expected)
      return answer(madeOf(made), { version: uidOf(made) })
    },
  })

export const compositions = [
  ...formats.flatMap((format) => [adding(format), showing(format), replacing(format)]),
  operation({
    id: 'getLinkedCompositions',
    method: 'get',
    path: one,
    params,
    summary: 'Show the links of a composition',
    description: 'Its own, and those of other compositions of the EHR that point to it.',
    source,
    access: 'plan:read',
    reply: [200, LinkedCompositions, 'versioned'],
    handle: async ({ params: { ehrId, compositionId: uid } }, { caller, compositions }) => {
      const { now, links } = await compositions.linked(caller, { ehrId, uid })
      return answer({ uid: uidOf(now), links }, { version: uidOf(now) })
    },
  }),
  operation({
    id: 'deleteComposition',
    method: 'delete',
    path: one,
    params,
    summary: 'Delete a composition',
    description:
      'Its versions are kept, and the deletion becomes the latest one. A version in the path must be the latest.',
    source,
    access: 'plan:write',
    reply: [204],
    errors: ['Conflict'],
    handle: ({ params: { ehrId, compositionId: uid } }, { caller, compositions, expected }) =>
      compositions.remove(caller, { ehrId, uid }, expected),
  }),
  list({
    id: 'listCompositionVersions',
    path: `${one}/history`,
    params,
    summary: 'List the versions of a composition',
    description: 'Who made which version, and when; newest first.',
    source: 'the versions of a composition',
    extra: true,
    access: 'plan:read',
    item: CompositionChange,
    handle: async ({ params: { ehrId, compositionId: uid }, page }, { caller, compositions }) => {
      const found = await compositions.history(caller, { ehrId, uid }, page)
      const [id = ''] = uid.split('::')
      return pageAs(found, ({ version, at, userId, application, action }) => ({
        uid: uidOf({ id, version }),
        at,
        userId,
        application,
        action,
      }))
    },
  }),
]
