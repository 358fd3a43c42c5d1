import { type Static, type TSchema, type TString, Type } from '@sinclair/typebox'
import { closed, line, text } from './common.ts'
import { bodyForm } from './forms/path-form.ts'
import { ParticipationBody } from './participation.ts'
import { Task } from './task.ts'

const open = { additionalProperties: false }

const dueDay = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 3650,
    description: 'When it is due, in days after the start',
    examples: [28],
  }),
)

const language = Type.String({ pattern: '^[a-z]{2}$', description: 'Language (ISO 639-1)', examples: ['en'] })

/** The shape of a template; `words` makes the schema of each text. */
function shape<W extends TSchema>(words: (schema: TString) => W) {
  const ofTask = {
    name: words(line('What is to be done', 'Measure for a week')),
    description: Type.Optional(words({ ...Task.fields.description, examples: ['Morning and evening'] })),
    dueDay,
    priority: Task.fields.priority,
    repeat: Task.fields.repeat,
  }
  const ofGoal = {
    name: words(line('What is to be reached', 'Know my blood pressure')),
    description: Type.Optional(words(text('More about it', 'As it is at home'))),
    dueDay,
    tasks: Type.Array(Type.Object(ofTask, open), { maxItems: 100, description: 'Its tasks, in their order' }),
  }
  return {
    id: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: 'Id of the template',
      examples: ['hypertension'],
    }),
    name: words(line('Name of the plan', 'Living with high blood pressure')),
    description: words(text('What the plan is about', 'Measuring at home and healthy habits')),
    durationDays: Type.Integer({
      minimum: 1,
      maximum: 3650,
      description: 'Days from the start to the due date of the plan',
      examples: [182],
    }),
    goals: Type.Array(Type.Object(ofGoal, open), { maxItems: 100, description: 'Its goals, in their order' }),
  }
}

/** A template as a file: each text stands there in each of its languages, `{ "en": "…", "nl": "…" }`. */
export const CarePlanTemplateFile = closed(
  'CarePlanTemplateFile',
  'A care-plan template in all its languages',
  shape((schema) =>
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      patternProperties: { [language.pattern ?? '']: schema },
      minProperties: 1,
      additionalProperties: false,
    }),
  ),
)
export type CarePlanTemplateFile = Static<typeof CarePlanTemplateFile>

export const CarePlanTemplate = closed('CarePlanTemplate', 'A care-plan template in one language', {
  ...shape((schema) => schema),
  language,
  languages: Type.Array(language, { description: 'All languages in which it is there' }),
})
export type CarePlanTemplate = Static<typeof CarePlanTemplate>

export const templateLanguage = Type.Optional({
  ...language,
  description: 'Language (ISO 639-1); the template’s first one when it is left out or not available',
})

export const TemplateUse = closed('TemplateUse', 'How a template becomes a care plan', {
  ...bodyForm({
    name: Type.Optional(line('Name of the plan; the one of the template when left out', 'My plan')),
    startDate: Type.Optional(
      Type.String({
        format: 'date',
        description: 'When it starts; today, in UTC, when left out',
        examples: ['2026-03-01'],
      }),
    ),
  }),
  language: templateLanguage,
  participants: Type.Optional(
    Type.Array(ParticipationBody, { maxItems: 50, description: 'Who takes part in the plan' }),
  ),
})
export type TemplateUse = Static<typeof TemplateUse>
