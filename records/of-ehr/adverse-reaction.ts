import { AdverseReaction as forms } from '../../schemas/adverse-reaction.ts'
import type { Coding } from '../../schemas/coding.ts'
import { ReactionStatusEnum, SubstanceCategoryEnum } from '../../schemas/enum.ts'
import { date } from '../../schemas/forms/fields.ts'
import { checkOf } from '../../schemas/registry.ts'
import { kind, type Values } from '../registered/kind.ts'
import { severityIn } from '../registered/timeline-line.ts'
import { sameWriting } from '../store/reading/words.ts'
import { by, byCode, search, searchedIn } from './finding.ts'
import { before, blank, unaddressable } from './rules.ts'

interface Manifested {
  manifestation?: unknown
  onset?: unknown
}

/** Whatever a client sent in their place. */
const reactionsIn = ({ reactions }: Values): Manifested[] =>
  Array.isArray(reactions) ? reactions.map((one: Manifested | null) => one ?? {}) : []

const dateFaults = checkOf(date('A day'))

/** The month, or the year, of a day that exists. */
const isPartial = (onset: unknown): boolean =>
  typeof onset === 'string' && onset.length < 10 && dateFaults(`${onset}-01-01`.slice(0, 10)).length === 0

/** Inside a list both families write a day as a text: no schema tells one that does not exist. */
const impossibleDays = (values: Values) =>
  reactionsIn(values).flatMap(({ onset }, i) =>
    onset === undefined || isPartial(onset) || dateFaults(onset).length === 0
      ? []
      : [{ path: `reactions.${i}.onset`, code: 'date', message: 'must be a day that exists' }],
  )

export const AdverseReaction = kind(forms, {
  words: { en: 'adverse reactions', nl: 'overgevoeligheden' },
  known: { by: ['substance'], as: ({ substance }) => [sameWriting(String(substance))] },
  rules: {
    together: ['code', 'reactions', 'comment', 'firstOnset', 'lastOnset'],
    violations: (values) => [
      ...blank(values, 'substance'),
      ...unaddressable(values, 'substance'),
      ...before(values, 'lastOnset', 'firstOnset'),
      ...impossibleDays(values),
    ],
    derived: searchedIn((values) => [
      values.substance,
      values.comment,
      ...reactionsIn(values).map(({ manifestation }) => manifestation),
    ]),
  },
  lists: { ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  filters: {
    search: search('the substance, what happened and the remark on it', 'penic'),
    code: byCode,
    status: by('status', ReactionStatusEnum),
    category: by('category', SubstanceCategoryEnum),
  },
  timeline: {
    kind: 'reaction',
    group: 'reactions',
    start: ['firstOnset', 'createdAt'],
    says: ({ substance, status, criticality, code }) => ({
      content: String(substance),
      summary: String(status),
      severity: severityIn(['low', 'high'], criticality),
      code: code as Coding | undefined,
    }),
  },
})
