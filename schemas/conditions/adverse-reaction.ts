import { Type } from '@sinclair/typebox'
import { codingField, naturalKeyField, searchFields } from '../coding.ts'
import { closedObject, longTextField, shortTextField } from '../common.ts'
import {
  CriticalityEnum,
  GradeEnum,
  ReactionStatusEnum,
  SubstanceCategoryEnum,
  VerificationEnum,
} from '../enums.ts'
import { dateField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'
import { withLastUpdated } from '../forms/last-updated.ts'

const manifestationField = Type.Object(
  {
    manifestation: shortTextField('Name of the reaction', 'Rash'),
    severity: Type.Optional(GradeEnum),
    onset: Type.Optional(
      Type.String({
        pattern: '^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$',
        description: 'Onset: a day, month or year',
        examples: ['2019-06-03'],
      }),
    ),
  },
  { additionalProperties: false, description: 'An observed reaction' },
)

const plainForms = defineForms({
  name: 'AdverseReaction',
  noun: 'adverse reaction',
  description: 'An allergy or intolerance. An EHR has at most one per substance, outside of care plans',
  parentType: 'EHR',
  example: 'a5LkJh90Bn',
  fields: {
    substance: shortTextField('Substance; upper and lower case and spacing do not matter', 'Penicillin'),
    code: Type.Optional(codingField('the substance', 'http://snomed.info/sct', '764146007')),
    status: Type.Optional({ ...ReactionStatusEnum, default: 'active' }),
    verification: Type.Optional(VerificationEnum),
    criticality: Type.Optional(CriticalityEnum),
    category: Type.Optional({ ...SubstanceCategoryEnum, examples: ['medication'] }),
    reactions: Type.Optional(
      Type.Array(manifestationField, {
        maxItems: 100,
        default: [],
        description: 'Observed reactions',
        examples: [[{ manifestation: 'Rash', severity: 'mild', onset: '2019-06-03' }]],
      }),
    ),
    firstOnset: Type.Optional(dateField('Date of the first reaction', '2019-06-03')),
    lastOnset: Type.Optional(dateField('Date of the latest reaction', '2021-09-12')),
    comment: Type.Optional(longTextField('Comment', 'Went away within a day')),
    ...searchFields,
    knownBy: naturalKeyField,
  },
})

export const AdverseReactionForms = {
  ...plainForms,
  resource: withLastUpdated(plainForms.resource),
}

/** Body for storing the reaction to the substance in the path. */
export const AdverseReactionBody = closedObject(
  'AdverseReactionStored',
  'A complete adverse reaction; omitted optional fields are removed',
  {
    ...plainForms.replacement.properties,
    substance: Type.Optional({
      ...plainForms.fields.substance,
      description: 'Spelling of the substance; default: as in the path',
    }),
  },
)
