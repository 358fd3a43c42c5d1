import { Type } from '@sinclair/typebox'
import { changeAuthorNames, onBehalfOfField } from '../change.ts'
import { closedObject, idField } from '../common.ts'
import { nullable } from '../forms/nullable.ts'
import { documentRmClass } from './rm-schema.ts'

const compositionText = (description: string, example: string) =>
  Type.String({ description, examples: [example] })

const EXAMPLE_OBJECT_ID = '8849182c-82ad-4088-a07f-48ead4180515'
const EXAMPLE_VERSION_UID = `${EXAMPLE_OBJECT_ID}::hrs.local::1`

/** Composition in a path: id, or uid of a version. */
export const compositionIdField = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}(::[A-Za-z0-9_.-]{1,64}::[0-9]{1,9})?$',
  description: 'Id of the composition, or the uid of a version of it',
  examples: [EXAMPLE_OBJECT_ID],
})

export const versionUidField = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}::[A-Za-z0-9_.-]{1,64}::[0-9]{1,9}$',
  description: 'Uid of the requested version',
  examples: [EXAMPLE_VERSION_UID],
})

const { required, ...rmComposition } = documentRmClass('COMPOSITION')
/** A composition names its template in `archetype_details`. */
const documentedComposition = { ...rmComposition, required: [...required, 'archetype_details'] }

/** Canonical JSON; reference model and template define its content. */
export const CanonicalComposition = Type.Unsafe<Record<string, unknown>>({
  $id: 'Composition',
  type: 'object',
  additionalProperties: true,
  documented: documentedComposition,
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
      language: { terminology_id: { value: 'ISO_639-1' }, code_string: 'en' },
      territory: { terminology_id: { value: 'ISO_3166-1' }, code_string: 'NL' },
      category: {
        value: 'event',
        defining_code: { terminology_id: { value: 'openehr' }, code_string: '433' },
      },
      composer: { _type: 'PARTY_IDENTIFIED', name: 'Anna de Vries' },
      context: {
        start_time: { value: '2026-03-01T08:30:00Z' },
        setting: {
          value: 'home',
          defining_code: { terminology_id: { value: 'openehr' }, code_string: '225' },
        },
      },
    },
  ],
})

export const CompositionVersion = closedObject('CompositionVersion', 'A version of a composition', {
  compositionId: compositionText('Id of the composition', EXAMPLE_OBJECT_ID),
  uid: compositionText('Uid of the version', EXAMPLE_VERSION_UID),
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
})

const linkedCompositionField = Type.Object(
  {
    uid: compositionText('Uid of the latest version', EXAMPLE_VERSION_UID),
    templateId: compositionText('Id of the template', 'Vital signs'),
    name: compositionText('Name of the composition', 'Vital signs'),
  },
  { additionalProperties: false, description: 'Composition at the other end, if it is in this EHR' },
)

const compositionLinkField = Type.Object(
  {
    direction: compositionText('Direction: outgoing or incoming', 'outgoing'),
    meaning: compositionText('Meaning of the link', 'follow-up'),
    type: compositionText('Type of the link', 'issue'),
    target: compositionText('Target of the link', `ehr://hrs.local/e5RtGb81Xz/${EXAMPLE_OBJECT_ID}`),
    composition: Type.Optional(linkedCompositionField),
  },
  { additionalProperties: false },
)

export const LinkedCompositions = closedObject('LinkedCompositions', 'The links of a composition', {
  uid: compositionText('Uid of the latest version', EXAMPLE_VERSION_UID),
  links: Type.Array(compositionLinkField, {
    description: 'Links of the composition, and links of others to it',
  }),
})

export const CompositionEntry = closedObject('CompositionEntry', 'A composition, without its content', {
  compositionId: compositionText('Id of the composition', EXAMPLE_OBJECT_ID),
  uid: compositionText('Uid of the latest version', EXAMPLE_VERSION_UID),
  name: compositionText('Name of the composition', 'Vital signs'),
  templateId: compositionText('Id of the template', 'vital_signs.v2'),
  carePlanId: nullable({ ...idField('the care plan in which it is registered'), examples: ['p0LmNb72Qw'] }),
  start: nullable(
    Type.String({ format: 'date-time', description: 'Start of its context; null without a context' }),
  ),
  updatedAt: Type.String({ format: 'date-time', description: 'Time of the latest version' }),
})

export const CompositionChange = closedObject(
  'CompositionChange',
  'A version of a composition, with its author and time',
  {
    uid: compositionText('Uid of the version', EXAMPLE_VERSION_UID),
    at: Type.String({ format: 'date-time', description: 'Time of creation' }),
    userId: compositionText('Id of the author', 'n4Fq2LxT0a'),
    onBehalfOf: onBehalfOfField,
    ...changeAuthorNames,
    application: compositionText('Application that the user used', 'password'),
    action: compositionText('Type of the change: create, update or delete', 'create'),
  },
)
