import { type Static, Type } from '@sinclair/typebox'
import { closed, line, text } from './common.ts'

/** A way to write a shape in a pack and in a definition: some texts are optional in the first, null in the second. */
const open = { additionalProperties: false }

export const INSTRUMENTS = ['ACQ', 'HADS', 'DSMQ'] as const
export type InstrumentName = (typeof INSTRUMENTS)[number]

const instrument = Type.Unsafe<InstrumentName>({
  type: 'string',
  enum: INSTRUMENTS,
  description: 'The questionnaire',
  examples: ['DSMQ'],
})

const language = Type.String({ pattern: '^[a-z]{2}$', description: 'Language (ISO 639-1)', examples: ['en'] })

export const questionnaireLanguage = Type.Optional({
  ...language,
  description: 'Language (ISO 639-1); another one when it is left out or not available',
})

const version = line('Version of the texts', '1.0')
const packId = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'Id of the text pack',
  examples: ['neutral'],
})
const licensed = Type.Boolean({ description: 'Whether these are the licensed texts', examples: [false] })
const notice = text(
  'The notice to show with the texts: whose they are',
  'Neutral labels of the service',
  2000,
)
const title = line('Its title', 'How you look after your diabetes')
const number = Type.Integer({ minimum: 1, maximum: 16, description: 'Number of the item', examples: [1] })
const label = text('The text of the item', 'Checking glucose', 2000)

const scale = Type.Array(
  Type.Object(
    {
      value: Type.Integer({ minimum: 0, maximum: 6, description: 'The value of the option', examples: [0] }),
      label: line('The text of the option', 'Not at all'),
    },
    open,
  ),
  { maxItems: 7, description: 'The options, in the order in which they are shown' },
)

/** What an operator supplies: the texts of one questionnaire in one language. */
export const TextPack = closed('TextPack', 'The texts of a questionnaire in one language', {
  id: packId,
  version,
  instrument,
  language,
  licensed,
  notice,
  title,
  recallPeriod: line('The period that it is about', 'The past 8 weeks'),
  instruction: Type.Optional(text('The instruction before the items', undefined, 2000)),
  scale,
  notRequired: Type.Optional(line('The option for what the treatment does not require')),
  pages: Type.Array(
    Type.Object(
      {
        title: line('What stands above the page'),
        items: Type.Array(
          Type.Object(
            {
              number,
              label,
              scale: Type.Optional(scale),
              notRequired: Type.Optional(Type.Boolean({ description: 'Whether it offers that option' })),
            },
            open,
          ),
          { maxItems: 16, description: 'The items of the page' },
        ),
      },
      open,
    ),
    { maxItems: 16, description: 'The pages, in their order' },
  ),
})
export type TextPack = Static<typeof TextPack>

const orNull = (type: string, description: string, example: string | null) =>
  Type.Unsafe<string | null>({ type: [type, 'null'], description, examples: [example] })

const item = Type.Object(
  {
    number,
    code: Type.String({ description: 'Code of the item', examples: ['dsmq-1'] }),
    label,
    required: Type.Boolean({ description: 'Whether there is no score without it', examples: [false] }),
    allowNotRequired: Type.Boolean({
      description: 'Whether it may be answered as not required',
      examples: [true],
    }),
    scale: Type.Unsafe<Static<typeof scale> | null>({
      ...scale,
      type: ['array', 'null'],
      description: 'Its own options, where they are not those of the questionnaire',
      examples: [null],
    }),
  },
  open,
)

export const QuestionnaireDefinition = closed(
  'QuestionnaireDefinition',
  'The definition of a questionnaire: texts, options, and where to send the answers',
  {
    id: Type.String({ description: 'Which questionnaire it is', examples: ['dsmq'] }),
    version,
    instrument,
    language,
    textPack: Type.Object(
      { id: packId, licensed, notice },
      { ...open, description: 'Whose texts these are' },
    ),
    title,
    recallPeriod: Type.Object(
      {
        duration: Type.String({ description: 'The same for programs (ISO 8601)', examples: ['P8W'] }),
        label: line('In words', 'The past 8 weeks'),
      },
      { ...open, description: 'The period that it is about' },
    ),
    instruction: orNull(
      'string',
      'The instruction before the items',
      'How far does each of these apply to you?',
    ),
    scale,
    notRequired: Type.Unsafe<{ value: 'NR'; label: string } | null>({
      type: ['object', 'null'],
      required: ['value', 'label'],
      properties: {
        value: { type: 'string', const: 'NR', description: 'What is sent' },
        label: line('The text of the option', 'Not part of my treatment'),
      },
      ...open,
      description: 'The option for what the treatment does not require; null where there is none',
    }),
    pages: Type.Array(
      Type.Object(
        {
          id: Type.String({ description: 'Id of the page', examples: ['page-1'] }),
          title: line('Its title', 'Questions 1 to 4'),
          items: Type.Array(item, { description: 'Its items' }),
        },
        open,
      ),
      { description: 'The pages, in their order' },
    ),
    submit: Type.Object(
      {
        method: Type.String({ description: 'How the answers are sent', examples: ['POST'] }),
        hrefTemplate: Type.String({
          description: 'Where they are sent, as a URI template',
          examples: ['/ehr/{ehrId}/procedure/dsmq'],
        }),
        contentType: Type.String({ description: 'Media type', examples: ['application/json'] }),
        body: Type.Record(Type.String(), Type.String(), {
          description: 'The body to send; fill in what is in braces, the answers in the order of the items',
          examples: [{ carePlanId: '{carePlanId}', timestamp: '{timestamp}', answers: '{answers}' }],
        }),
      },
      { ...open, description: 'Where the answers go' },
    ),
  },
)
export type QuestionnaireDefinition = Static<typeof QuestionnaireDefinition>
