import { Type } from '@sinclair/typebox'
import { coding, knownBy, searched } from './coding.ts'
import { closed, line, text } from './common.ts'
import {
  CriticalityEnum,
  GradeEnum,
  ReactionStatusEnum,
  SubstanceCategoryEnum,
  VerificationEnum,
} from './enum.ts'
import { date } from './forms/fields.ts'
import { forms } from './forms/forms.ts'
import { lastUpdated } from './last-updated.ts'

const manifestation = Type.Object(
  {
    manifestation: line('What happened', 'Rash'),
    severity: Type.Optional(GradeEnum),
    onset: Type.Optional(
      Type.String({
        pattern: '^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$',
        description: 'The day on which it began, or the month or the year when no more is known',
        examples: ['2019-06-03'],
      }),
    ),
  },
  { additionalProperties: false, description: 'An observed reaction' },
)

const made = forms({
  name: 'AdverseReaction',
  noun: 'adverse reaction',
  description:
    'An allergy or intolerance, one for each substance; it is registered in the EHR, not in a care plan',
  registeredIn: 'EHR',
  example: 'a5LkJh90Bn',
  fields: {
    substance: line('What the person reacts to, regardless of case and spacing', 'Penicillin'),
    code: Type.Optional(coding('the substance', 'http://snomed.info/sct', '764146007')),
    status: Type.Optional({ ...ReactionStatusEnum, default: 'active' }),
    verification: Type.Optional(VerificationEnum),
    criticality: Type.Optional(CriticalityEnum),
    category: Type.Optional({ ...SubstanceCategoryEnum, examples: ['medication'] }),
    reactions: Type.Optional(
      Type.Array(manifestation, {
        maxItems: 100,
        default: [],
        description: 'The reactions that have been observed',
        examples: [[{ manifestation: 'Rash', severity: 'mild', onset: '2019-06-03' }]],
      }),
    ),
    firstOnset: Type.Optional(date('When it happened first', '2019-06-03')),
    lastOnset: Type.Optional(date('When it happened last', '2021-09-12')),
    comment: Type.Optional(text('A remark on it', 'Went away within a day')),
    ...searched,
    knownBy,
  },
})

export const AdverseReaction = {
  ...made,
  resource: lastUpdated(made.resource),
}

/** What is stored under a substance: the path names it. */
export const AdverseReactionStored = closed(
  'AdverseReactionStored',
  'A complete adverse reaction: what is left out is removed',
  {
    ...made.replacement.properties,
    substance: Type.Optional({
      ...made.fields.substance,
      description: 'How it is written; by default as in the path',
    }),
  },
)
