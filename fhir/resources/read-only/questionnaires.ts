import type { FhirResource } from '../../../records/fhir/mapping.ts'
import { NOT_REQUIRED, questionnaireUri } from '../../../records/measurements/fhir/questionnaire-response.ts'
import { INSTRUMENTS } from '../../../records/questionnaires/instruments.ts'
import { neutralLabel } from '../../../records/questionnaires/text-packs.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { INSTRUMENT_NAMES, type InstrumentName } from '../../../schemas/questionnaires/questionnaire.ts'
import { requireKnownModifier } from '../../outcome/issue.ts'
import { searchInMemory } from '../../search/search-in-memory.ts'
import type { SearchCriterion } from '../../sources/resource-search.ts'
import type { ResourceSource, ResourceType } from '../../sources/resource-source.ts'

/** The versions of the ACQ are its numbers of items. */
const VERSIONS: Readonly<Record<InstrumentName, readonly number[]>> = {
  ACQ: [5, 6, 7],
  HADS: [1],
  DSMQ: [1],
}

/** With the first version that takes an answer to the item. */
const FURTHER_ITEMS: Partial<Record<InstrumentName, readonly (readonly [version: number, item: object])[]>> =
  {
    ACQ: [
      [
        6,
        { linkId: 'relieverPuffs', text: 'Reliever puffs in 24 hours, in place of item 6', type: 'integer' },
      ],
      [
        7,
        {
          linkId: 'fev1PercentPredicted',
          text: 'FEV1 as % of predicted, in place of item 7',
          type: 'decimal',
        },
      ],
      [5, { linkId: 'age', text: 'Age in years', type: 'decimal' }],
    ],
  }

const PUBLISHED = '2026-11-26'

function questionnaireOf(instrument: InstrumentName, version: number): FhirResource {
  const { items, highest, takesNotRequired } = INSTRUMENTS[instrument]
  const id = instrument.toLowerCase()
  const choices = Array.from({ length: highest + 1 }, (_, valueInteger): object => ({ valueInteger }))
  const answerOption = takesNotRequired ? [...choices, { valueCoding: NOT_REQUIRED }] : choices
  const count = instrument === 'ACQ' ? version : items
  const questions = (prefix: string) =>
    Array.from({ length: count }, (_, i) => ({
      linkId: `${prefix}${i + 1}`,
      text: neutralLabel(instrument, i + 1),
      // None is required: the service stores responses without an answer to it.
      type: 'choice',
      answerOption,
    }))
  return {
    resourceType: 'Questionnaire',
    id: instrument === 'ACQ' ? `${id}-${version}` : id,
    meta: { versionId: '1', lastUpdated: `${PUBLISHED}T00:00:00Z` },
    url: questionnaireUri(id),
    version: String(version),
    name: instrument,
    title: instrument,
    status: 'active',
    date: PUBLISHED,
    subjectType: ['Patient'],
    item: [
      ...questions(''),
      ...(instrument === 'HADS' ? questions('option-') : []),
      ...(FURTHER_ITEMS[instrument] ?? []).filter(([from]) => version >= from).map(([, item]) => item),
    ],
  }
}

const QUESTIONNAIRES = INSTRUMENT_NAMES.flatMap((instrument) =>
  VERSIONS[instrument].map((version) => questionnaireOf(instrument, version)),
)

const PARAMETERS = {
  _id: { type: 'token', description: 'Id of the questionnaire' },
  url: { type: 'uri', description: 'URI of the questionnaire' },
  version: { type: 'token', description: 'Version of the questionnaire' },
  name: { type: 'string', description: 'Beginning of the name' },
  status: { type: 'token', description: 'Status: always active' },
} as const

/** @throws InvalidInput for a modifier */
function matches(questionnaire: FhirResource, criterion: SearchCriterion): boolean {
  requireKnownModifier(criterion)
  const { name, values } = criterion
  const value = String(questionnaire[name === '_id' ? 'id' : name])
  const withVersion = `${value}|${questionnaire.version}`
  return values.some((text) =>
    name === 'name'
      ? value.toLowerCase().startsWith(text.toLowerCase())
      : value === text || (name === 'url' && withVersion === text),
  )
}

const source: ResourceSource = {
  async read(_caller, id) {
    const questionnaire = QUESTIONNAIRES.find((one) => one.id === id)
    if (!questionnaire) throw new ServiceError('NotFound')
    return questionnaire
  },
  search: async (_caller, search) => searchInMemory(QUESTIONNAIRES, search, matches),
}

/** The questionnaires that the service scores, with neutral labels: their texts belong to their owners. */
export const questionnaireType: ResourceType = {
  type: 'Questionnaire',
  plural: 'questionnaires',
  profiles: [],
  interactions: ['read', 'search-type'],
  readers: 'user',
  parameters: PARAMETERS,
  sortedBy: undefined,
  open: () => source,
}
