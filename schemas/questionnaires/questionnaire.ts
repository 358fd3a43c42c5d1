import { type Static, Type } from '@sinclair/typebox'
import { closedObject, longTextField, shortTextField } from '../common.ts'

/**
 * Option shared by text packs and definitions: some texts are optional in the first and null in the second.
 */
const NO_OTHER_PROPERTIES = { additionalProperties: false }

export const INSTRUMENT_NAMES = ['ACQ', 'HADS', 'DSMQ'] as const
export type InstrumentName = (typeof INSTRUMENT_NAMES)[number]

const instrumentField = Type.Unsafe<InstrumentName>({
  type: 'string',
  enum: INSTRUMENT_NAMES,
  description: 'Instrument',
  examples: ['DSMQ'],
})

const languageField = Type.String({
  pattern: '^[a-z]{2}$',
  description: 'Language (ISO 639-1)',
  examples: ['en'],
})

export const questionnaireLanguageParameter = Type.Optional({
  ...languageField,
  description: 'Language (ISO 639-1); if omitted or not available, another language is chosen',
})

const textsVersionField = shortTextField('Version of the texts', '1.0')
const packIdField = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'Id of the text pack',
  examples: ['neutral'],
})
const licensedField = Type.Boolean({ description: 'True for licensed texts', examples: [false] })
const noticeField = longTextField(
  'Copyright notice to show with the texts',
  'Neutral labels of the service',
  2000,
)
const questionnaireTitleField = shortTextField(
  'Title of the questionnaire',
  'How you look after your diabetes',
)
const itemNumberField = Type.Integer({
  minimum: 1,
  maximum: 16,
  description: 'Number of the item',
  examples: [1],
})
const itemTextField = longTextField('Text of the item', 'Checking glucose', 2000)

const scaleField = Type.Array(
  Type.Object(
    {
      value: Type.Integer({ minimum: 0, maximum: 6, description: 'Value of the option', examples: [0] }),
      label: shortTextField('Text of the option', 'Not at all'),
    },
    NO_OTHER_PROPERTIES,
  ),
  { maxItems: 7, description: 'Options in display order' },
)

/** Text pack from the operator: texts of one questionnaire in one language. */
export const TextPack = closedObject('TextPack', 'Texts of a questionnaire in one language', {
  id: packIdField,
  version: textsVersionField,
  instrument: instrumentField,
  language: languageField,
  licensed: licensedField,
  notice: noticeField,
  title: questionnaireTitleField,
  recallPeriod: shortTextField('Period to which the questions refer', 'The past 8 weeks'),
  instruction: Type.Optional(longTextField('Instruction before the items', undefined, 2000)),
  scale: scaleField,
  notRequired: Type.Optional(shortTextField("Text of the option 'not required as part of my treatment'")),
  pages: Type.Array(
    Type.Object(
      {
        title: shortTextField('Heading of the page'),
        items: Type.Array(
          Type.Object(
            {
              number: itemNumberField,
              label: itemTextField,
              scale: Type.Optional(scaleField),
              notRequired: Type.Optional(
                Type.Boolean({ description: 'True if the item offers that option' }),
              ),
            },
            NO_OTHER_PROPERTIES,
          ),
          { maxItems: 16, description: 'Items of the page' },
        ),
      },
      NO_OTHER_PROPERTIES,
    ),
    { maxItems: 16, description: 'Pages in order' },
  ),
})
export type TextPack = Static<typeof TextPack>

const nullableTextField = (type: string, description: string, example: string | null) =>
  Type.Unsafe<string | null>({ type: [type, 'null'], description, examples: [example] })

const questionnaireItemField = Type.Object(
  {
    number: itemNumberField,
    code: Type.String({ description: 'Code of the item', examples: ['dsmq-1'] }),
    label: itemTextField,
    required: Type.Boolean({ description: 'True if there is no score without this item', examples: [false] }),
    allowNotRequired: Type.Boolean({
      description: 'True if the answer may be ‘not required’',
      examples: [true],
    }),
    scale: Type.Unsafe<Static<typeof scaleField> | null>({
      ...scaleField,
      type: ['array', 'null'],
      description: 'Options of this item; null if those of the questionnaire apply',
      examples: [null],
    }),
  },
  NO_OTHER_PROPERTIES,
)

export const QuestionnaireDefinition = closedObject(
  'QuestionnaireDefinition',
  'Definition of a questionnaire: texts, options, and the URL for the answers',
  {
    id: Type.String({ description: 'Id of the questionnaire', examples: ['dsmq'] }),
    version: textsVersionField,
    instrument: instrumentField,
    language: languageField,
    textPack: Type.Object(
      { id: packIdField, licensed: licensedField, notice: noticeField },
      { ...NO_OTHER_PROPERTIES, description: 'Text pack' },
    ),
    title: questionnaireTitleField,
    recallPeriod: Type.Object(
      {
        duration: Type.String({ description: 'Duration of the period (ISO 8601)', examples: ['P8W'] }),
        label: shortTextField('Text of the period', 'The past 8 weeks'),
      },
      { ...NO_OTHER_PROPERTIES, description: 'Period to which the questions refer' },
    ),
    instruction: nullableTextField(
      'string',
      'Instruction before the items',
      'How far does each of these apply to you?',
    ),
    scale: scaleField,
    notRequired: Type.Unsafe<{ value: 'NR'; label: string } | null>({
      type: ['object', 'null'],
      required: ['value', 'label'],
      properties: {
        value: { type: 'string', const: 'NR', description: 'Value to send' },
        label: shortTextField('Text of the option', 'Not part of my treatment'),
      },
      ...NO_OTHER_PROPERTIES,
      description: "Value for 'not required as part of my treatment'; null if the questionnaire has none",
    }),
    pages: Type.Array(
      Type.Object(
        {
          id: Type.String({ description: 'Id of the page', examples: ['page-1'] }),
          title: shortTextField('Title of the page', 'Questions 1 to 4'),
          items: Type.Array(questionnaireItemField, { description: 'Items of the page' }),
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Pages in order' },
    ),
    submit: Type.Object(
      {
        method: Type.String({ description: 'HTTP method', examples: ['POST'] }),
        hrefTemplate: Type.String({
          format: 'uri-template',
          description: 'URI template of the target',
          examples: ['/ehr/{ehrId}/procedure/dsmq'],
        }),
        contentType: Type.String({
          description: 'Media type of the request',
          examples: ['application/json'],
        }),
        body: Type.Record(Type.String(), Type.String(), {
          description:
            'Template of the body: replace the names in braces; the answers are in the order of the items',
          examples: [{ carePlanId: '{carePlanId}', timestamp: '{timestamp}', answers: '{answers}' }],
        }),
      },
      { ...NO_OTHER_PROPERTIES, description: 'Request that stores the answers' },
    ),
  },
)
export type QuestionnaireDefinition = Static<typeof QuestionnaireDefinition>
