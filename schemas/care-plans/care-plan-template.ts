import { type Static, type TSchema, type TString, Type } from '@sinclair/typebox'
import { closedObject, longTextField, shortTextField } from '../common.ts'
import { bodyForm } from '../forms/path-form.ts'
import { ParticipationBody } from './participation.ts'
import { TaskForms } from './task.ts'

const NO_OTHER_PROPERTIES = { additionalProperties: false }

const dueDayField = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 3650,
    description: 'Due day, in days after the start',
    examples: [28],
  }),
)

const languageField = Type.String({
  pattern: '^[a-z]{2}$',
  description: 'Language (ISO 639-1)',
  examples: ['en'],
})

/** Schema of a template; `words` creates the schema of each text. */
function templateSchema<W extends TSchema>(words: (schema: TString) => W) {
  const ofTask = {
    name: words(shortTextField('Name of the task', 'Measure for a week')),
    description: Type.Optional(words({ ...TaskForms.fields.description, examples: ['Morning and evening'] })),
    dueDay: dueDayField,
    priority: TaskForms.fields.priority,
    repeat: TaskForms.fields.repeat,
  }
  const ofGoal = {
    name: words(shortTextField('Name of the goal', 'Know my blood pressure')),
    description: Type.Optional(words(longTextField('Description of the goal', 'As it is at home'))),
    dueDay: dueDayField,
    tasks: Type.Array(Type.Object(ofTask, NO_OTHER_PROPERTIES), {
      maxItems: 100,
      description: 'Tasks in order',
    }),
  }
  return {
    id: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: 'Id of the template',
      examples: ['hypertension'],
    }),
    name: words(shortTextField('Name of the plan', 'Living with high blood pressure')),
    description: words(longTextField('Description of the plan', 'Measuring at home and healthy habits')),
    durationDays: Type.Integer({
      minimum: 1,
      maximum: 3650,
      description: 'Duration of the plan in days, from start to due date',
      examples: [182],
    }),
    goals: Type.Array(Type.Object(ofGoal, NO_OTHER_PROPERTIES), {
      maxItems: 100,
      description: 'Goals in order',
    }),
  }
}

/** A template file: each text is an object by language, `{ "en": "…", "nl": "…" }`. */
export const CarePlanTemplateFile = closedObject(
  'CarePlanTemplateFile',
  'A care-plan template in all its languages',
  templateSchema((schema) =>
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      patternProperties: { [languageField.pattern ?? '']: schema },
      minProperties: 1,
      additionalProperties: false,
    }),
  ),
)
export type CarePlanTemplateFile = Static<typeof CarePlanTemplateFile>

export const CarePlanTemplate = closedObject('CarePlanTemplate', 'A care-plan template in one language', {
  ...templateSchema((schema) => schema),
  language: languageField,
  languages: Type.Array(languageField, { description: 'Languages in which the template is available' }),
})
export type CarePlanTemplate = Static<typeof CarePlanTemplate>

export const templateLanguageParameter = Type.Optional({
  ...languageField,
  description: 'Language (ISO 639-1); if omitted or not available, the first language of the template',
})

const startDateField = Type.Optional(
  Type.String({
    format: 'date',
    description: 'Start date; default: today in UTC',
    examples: ['2026-03-01'],
  }),
)

export const TemplateUse = closedObject(
  'TemplateUse',
  'Parameters for creating a care plan from a template',
  {
    ...bodyForm({
      name: Type.Optional(shortTextField('Name of the plan; default: the name of the template', 'My plan')),
      startDate: startDateField,
    }),
    language: templateLanguageParameter,
    participants: Type.Optional(
      Type.Array(ParticipationBody, { maxItems: 50, description: 'Participants of the plan' }),
    ),
  },
)
export type TemplateUse = Static<typeof TemplateUse>

export const TemplateAddition = closedObject(
  'TemplateAddition',
  'Parameters for adding the goals and tasks of a template to a care plan',
  { ...bodyForm({ startDate: startDateField }), language: templateLanguageParameter },
)
export type TemplateAddition = Static<typeof TemplateAddition>
