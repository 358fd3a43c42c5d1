import { Composition } from '../../../records/compositions/composition-record.ts'
import { ownUri } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import { constantToken, dateParameter, textToken } from '../../../records/fhir/search-parameters.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { PageQuery } from '../../../records/store/reading/pages.ts'
import { Store } from '../../../records/store/store.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { recordConditionsOf } from '../../search/search-conditions.ts'
import { searchWithin } from '../../search/search-within.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  ResourceContent,
  ResourceSource,
  ResourceType,
} from '../../sources/resource-source.ts'
import { patientIdOf } from '../patients-of-caller.ts'

const COMPOSITION_TYPE = 'application/openehr+json'

const openCompositions = ({ context }: FhirServices) => new Store(context, Composition)
type Compositions = ReturnType<typeof openCompositions>
type StoredComposition = Awaited<ReturnType<Compositions['get']>>

/** Fields for queries of openEHR, which FHIR does not show. */
const SEARCH_FIELDS = ['facts', 'times', 'archetypes', 'links']

/** @throws NotFound; Gone for a deleted one, whose content is missing */
async function findComposition(
  compositions: Compositions,
  caller: Caller,
  id: string,
  without: string[] = [],
) {
  const found = await compositions.get(caller, { id }, { without: [...SEARCH_FIELDS, ...without] })
  if (found.json === undefined) throw new ServiceError('Gone')
  return found
}

const metaOf = ({ version, updatedAt }: StoredComposition) => ({
  meta: { versionId: String(version), lastUpdated: updatedAt },
})

const templateSystem = ownUri('template')

const documentReferenceOf = (base: string, found: StoredComposition): FhirResource => {
  const { id, ehrId, carePlanId, templateId, name, createdAt, start } = found
  return {
    resourceType: 'DocumentReference',
    id,
    ...metaOf(found),
    status: 'current',
    type: { coding: [{ system: templateSystem, code: templateId }], text: name },
    subject: { reference: `Patient/${ehrId}` },
    date: createdAt,
    description: name,
    content: [
      {
        attachment: { contentType: COMPOSITION_TYPE, url: `${base}/Binary/${id}`, title: name },
        format: { system: templateSystem, code: templateId },
      },
    ],
    ...((start !== undefined || carePlanId !== undefined) && {
      context: {
        ...(start !== undefined && { period: { start: new Date(start).toISOString() } }),
        ...(carePlanId !== undefined && { related: [{ reference: `CarePlan/${carePlanId}` }] }),
      },
    }),
  }
}

const PARAMETERS = {
  type: textToken('Id of the template', 'templateId'),
  date: dateParameter('Time at which the document was stored', 'createdAt'),
  status: constantToken('Status: always current', [{ code: 'current' }]),
}

/** openEHR compositions as documents. */
class DocumentReferences implements ResourceSource {
  readonly #compositions: Compositions
  readonly #base: string

  constructor(services: FhirServices) {
    this.#compositions = openCompositions(services)
    this.#base = `${services.publicUrl}/fhir/R4`
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    return documentReferenceOf(this.#base, await findComposition(this.#compositions, caller, id))
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    const own = search.criteria.filter(({ name }) => name !== 'patient')
    const conditions = recordConditionsOf(PARAMETERS, own)
    const scope = search.criteria.filter(({ name }) => name === 'patient')
    return searchWithin<StoredComposition>(
      { ...search, criteria: scope },
      {
        name: 'patient',
        readPage: async (patient, page) => {
          if (conditions === undefined) return { items: [], next: null, total: 0 }
          const where = { ...conditions, ehrId: patientIdOf(patient), json: { exists: true } }
          return this.#compositions.list(caller, 'ofEhr', { where, ...page } as PageQuery<never>)
        },
        fits: () => true,
        show: async (items) => items.map((one) => documentReferenceOf(this.#base, one)),
      },
    )
  }
}

/** The content of a composition, as canonical JSON of openEHR. */
class Binaries implements ResourceSource {
  readonly #compositions: Compositions
  readonly #toJson: FhirServices['toCompositionJson']

  constructor(services: FhirServices) {
    this.#compositions = openCompositions(services)
    this.#toJson = services.toCompositionJson
  }

  async readContent(caller: Caller, id: string): Promise<ResourceContent> {
    const found = await findComposition(this.#compositions, caller, id)
    const { meta } = metaOf(found)
    return { type: COMPOSITION_TYPE, content: String(this.#toJson(found)), ...meta }
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    const { type, content, ...meta } = await this.readContent(caller, id)
    const data = Buffer.from(content).toString('base64')
    return { resourceType: 'Binary', id, meta, contentType: type, data }
  }

  async search(): Promise<never> {
    throw new ServiceError('MethodNotAllowed')
  }
}

export const documentReferenceType: ResourceType = {
  type: 'DocumentReference',
  plural: 'documents of a patient',
  profiles: [],
  interactions: ['read', 'search-type'],
  parameters: {
    patient: { type: 'reference', description: 'Patient: the id of an EHR, which must be given' },
    ...PARAMETERS,
  },
  sortedBy: undefined,
  open: (services) => new DocumentReferences(services),
}

export const binaryType: ResourceType = {
  type: 'Binary',
  plural: 'contents of documents',
  profiles: [],
  interactions: ['read'],
  contentTypes: [COMPOSITION_TYPE],
  parameters: {},
  sortedBy: undefined,
  open: (services) => new Binaries(services),
}
