import type { Coding } from '../../schemas/coding.ts'
import { AdverseReactionForms as forms } from '../../schemas/conditions/adverse-reaction.ts'
import {
  CriticalityEnum,
  ReactionStatusEnum,
  SubstanceCategoryEnum,
  VerificationEnum,
} from '../../schemas/enums.ts'
import { dateField } from '../../schemas/forms/fields.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import { defineKind, type Values } from '../ehr-records/kind.ts'
import { severityRank, withVerification } from '../ehr-records/timeline-definition.ts'
import {
  blankViolations,
  dateOrderViolations,
  futureDateViolations,
  urlPathViolations,
} from '../ehr-records/validation/field-violations.ts'
import { allergyIntoleranceMapping } from './fhir/allergy-intolerance-mapping.ts'
import {
  clinicalStatusFilter,
  codeFilter,
  fieldFilter,
  searchFieldsFrom,
  searchFilter,
} from './search-filters.ts'
import { normalizeText } from './search-words.ts'

interface Reaction {
  manifestation?: unknown
  onset?: unknown
}

/** A client may have sent anything in place of the reactions. */
const reactionsIn = ({ reactions }: Values): Reaction[] =>
  Array.isArray(reactions) ? reactions.map((one: Reaction | null) => one ?? {}) : []

const checkDate = createValidator(dateField('Day'))

/** A month or a year, without the day. */
const isPartialDate = (onset: unknown): boolean =>
  typeof onset === 'string' && onset.length < 10 && checkDate(`${onset}-01-01`.slice(0, 10)).length === 0

/** Inside a list both families write days as texts, and a schema does not recognise an impossible day. */
const impossibleDateViolations = (values: Values) =>
  reactionsIn(values).flatMap(({ onset }, i) =>
    onset === undefined || isPartialDate(onset) || checkDate(onset).length === 0
      ? []
      : [{ path: `reactions.${i}.onset`, code: 'date', message: 'must be a day of the calendar' }],
  )

export const AdverseReaction = defineKind(forms, {
  words: { en: 'adverse reactions', nl: 'overgevoeligheden' },
  fhir: allergyIntoleranceMapping({
    statuses: ReactionStatusEnum.enum,
    verifications: VerificationEnum.enum,
    criticalities: CriticalityEnum.enum,
    categories: SubstanceCategoryEnum.enum,
  }),
  naturalKey: { fields: ['substance'], keysOf: ({ substance }) => [normalizeText(String(substance))] },
  rules: {
    dependentFields: ['code', 'reactions', 'comment', 'firstOnset', 'lastOnset'],
    violations: (values, changedFields) => [
      ...blankViolations(values, 'substance'),
      ...urlPathViolations(values, 'substance'),
      ...futureDateViolations(values, changedFields, ['firstOnset', 'lastOnset']),
      ...dateOrderViolations(values, 'lastOnset', 'firstOnset'),
      ...impossibleDateViolations(values),
    ],
    derived: searchFieldsFrom((values) => [
      values.substance,
      values.comment,
      ...reactionsIn(values).map(({ manifestation }) => manifestation),
    ]),
  },
  lists: { ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  filters: {
    search: searchFilter('the substance, the reactions and the comment', 'pen'),
    code: codeFilter,
    status: clinicalStatusFilter(ReactionStatusEnum, 'verification'),
    category: fieldFilter('category', SubstanceCategoryEnum),
  },
  timeline: {
    kind: 'reaction',
    group: 'reactions',
    start: ['firstOnset', 'createdAt'],
    describe: ({ substance, status, criticality, code, verification }) =>
      withVerification(verification, {
        content: String(substance),
        summary: String(status),
        severity: severityRank(['low', 'high'], criticality),
        code: code as Coding | undefined,
      }),
  },
})
