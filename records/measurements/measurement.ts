import { type TObject, type TProperties, type TString, Type } from '@sinclair/typebox'
import { text } from '../../schemas/common.ts'
import { SourceEnum } from '../../schemas/enum.ts'
import { time } from '../../schemas/forms/fields.ts'
import { type AnyForms, forms } from '../../schemas/forms/forms.ts'
import type { Rules } from '../registered/kind.ts'
import { type ClassKind, kind } from '../registered/kind.ts'

/** What every measurement has. */
const common = {
  timestamp: time('When it was measured'),
  deviceId: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Device that measured' })),
  comment: Type.Optional(text('A remark on the measurement')),
  source: Type.Optional(SourceEnum),
}

const byTime = { sort: 'timestamp', order: 'desc' } as const

interface Measurement {
  name: string
  noun: string
  description: string
  words: ClassKind['words']
  /** Its own fields, with their units and ranges. */
  fields: TProperties
  rules: Rules
  /** Needed when the examples of the fields do not fit together. */
  examples?: readonly object[]
}

type MeasurementForms = Omit<AnyForms, 'record'> & {
  record: TObject<{ ehrId: TString; carePlanId: TString; timestamp: TString }>
}

/** The fields of its own are any: a type made of them would have no end. */
const formsOf = forms as unknown as (about: object) => MeasurementForms

/** A kind of measurement: it is registered in a care plan, by the time at which it was taken. */
export const measurement = ({ words, rules, fields, ...about }: Measurement) =>
  kind(
    formsOf({
      ...about,
      registeredIn: 'plan',
      namesPlan: true,
      ehrFollows: true,
      example: 'm4RtYu78Io',
      fields: { ...common, ...fields },
    }),
    {
      words,
      rules,
      lists: { ofEhr: { by: ['ehrId'], ...byTime }, ofPlan: { by: ['carePlanId'], ...byTime } },
    },
  )
