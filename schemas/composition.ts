import { Type } from '@sinclair/typebox'
import { closed, id } from './common.ts'

const text = (description: string, example: string) => Type.String({ description, examples: [example] })

const OBJECT_ID = '8849182c-82ad-4088-a07f-48ead4180515'
const UID = `${OBJECT_ID}::hrs.local::1`

/** A composition in a path: its id, or the uid of one of its versions. */
export const compositionId = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}(::[A-Za-z0-9_.-]{1,64}::[0-9]{1,9})?$',
  description: 'Id of the composition, or the uid of a version of it',
  examples: [OBJECT_ID],
})

export const versionUid = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}::[A-Za-z0-9_.-]{1,64}::[0-9]{1,9}$',
  description: 'The uid of the requested version',
  examples: [UID],
})

/** Canonical JSON: the reference model says what may stand in it, and the template. */
export const CanonicalComposition = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'A composition in canonical JSON of the openEHR reference model',
  examples: [
    {
      _type: 'COMPOSITION',
      archetype_node_id: 'openEHR-EHR-COMPOSITION.encounter.v1',
      name: { value: 'Vital signs' },
      archetype_details: {
        archetype_id: { value: 'openEHR-EHR-COMPOSITION.encounter.v1' },
        template_id: { value: 'Vital signs' },
        rm_version: '1.0.4',
      },
    },
  ],
})

export const CompositionVersion = closed('CompositionVersion', 'A version of a composition', {
  compositionId: text('Id of the composition', OBJECT_ID),
  uid: text('Uid of the version', UID),
  ehrId: id('the EHR', 'e5RtGb81Xz'),
})

const linkedComposition = Type.Object(
  {
    uid: text('Uid of its latest version', UID),
    templateId: text('Id of its template', 'Vital signs'),
    name: text('What it is called', 'Vital signs'),
  },
  { additionalProperties: false, description: 'The composition at the other end, when it is in this EHR' },
)

const link = Type.Object(
  {
    direction: text('outgoing or incoming', 'outgoing'),
    meaning: text('What the link means', 'follow-up'),
    type: text('Its type', 'issue'),
    target: text('Where it leads', `ehr://hrs.local/e5RtGb81Xz/${OBJECT_ID}`),
    composition: Type.Optional(linkedComposition),
  },
  { additionalProperties: false },
)

export const LinkedCompositions = closed('LinkedCompositions', 'The links of a composition', {
  uid: text('Uid of its latest version', UID),
  links: Type.Array(link, { description: 'Its links, and those of others that lead to it' }),
})

export const CompositionChange = closed(
  'CompositionChange',
  'Who made a version of a composition, and when',
  {
    uid: text('Uid of the version', UID),
    at: Type.String({ format: 'date-time', description: 'When it was created' }),
    userId: text('The user who made it', 'n4Fq2LxT0a'),
    application: text('The application that was used', 'password'),
    action: text('create, update or delete', 'create'),
  },
)
