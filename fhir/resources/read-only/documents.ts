import { Composition, startTimeOf } from '../../../records/compositions/composition-record.ts'
import { ownUri } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import {
  constantToken,
  dateParameter,
  referenceParameter,
  textToken,
} from '../../../records/fhir/search/search-parameters.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { PageQuery } from '../../../records/store/reading/pages.ts'
import { Store } from '../../../records/store/store.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { recordConditionsOf } from '../../search/search-conditions.ts'
import { noneIfUnknown } from '../../search/search-within.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  ResourceContent,
  ResourceSource,
  ResourceType,
} from '../../sources/resource-source.ts'
import { isPatientCriterion, PATIENT_PARAMETERS, searchedEhrIds } from '../patients-of-caller.ts'

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
  const composition = await compositions.get(caller, { id }, { without: [...SEARCH_FIELDS, ...without] })
  if (composition.json === undefined) throw new ServiceError('Gone')
  return composition
}

const metaOf = ({ version, updatedAt }: StoredComposition) => ({
  meta: { versionId: String(version), lastUpdated: updatedAt },
})

const templateSystem = ownUri('template')

const documentReferenceOf = (base: string, composition: StoredComposition): FhirResource => {
  const { id, ehrId, carePlanId, templateId, name, createdAt } = composition
  const start = startTimeOf(composition)
  return {
    resourceType: 'DocumentReference',
    id,
    ...metaOf(composition),
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
        ...(start !== undefined && { period: { start } }),
        ...(carePlanId !== undefined && { related: [{ reference: `CarePlan/${carePlanId}` }] }),
      },
    }),
  }
}

const TEMPLATE = textToken('Id of the template', 'templateId')

const PARAMETERS = {
  _id: { ...textToken('Id of the document', 'id'), modifiers: [] },
  _lastUpdated: dateParameter('Time of the last change', 'updatedAt'),
  type: TEMPLATE,
  format: TEMPLATE,
  contenttype: constantToken('Media type, the same for all', [{ code: COMPOSITION_TYPE }]),
  date: dateParameter('Time at which the document was stored', 'createdAt'),
  status: constantToken('Status: always current', [{ code: 'current' }]),
  related: referenceParameter('Care plan', 'carePlanId', 'CarePlan'),
}

/** openEHR compositions as documents. */
class DocumentReferences implements ResourceSource {
  readonly #context: StoreContext
  readonly #compositions: Compositions
  readonly #base: string

  constructor(services: FhirServices) {
    this.#context = services.context
    this.#compositions = openCompositions(services)
    this.#base = `${services.publicUrl}/fhir/R4`
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    return documentReferenceOf(this.#base, await findComposition(this.#compositions, caller, id))
  }

  async search(caller: Caller, { criteria, count, after, total }: ResourceSearch): Promise<FoundResources> {
    const ehrIds = await searchedEhrIds(this.#context, caller, criteria)
    const documentCriteria = criteria.filter((one) => !isPatientCriterion(one))
    const conditions = recordConditionsOf(documentCriteria)(PARAMETERS)
    const [ehrId] = ehrIds
    if (ehrId === undefined || conditions === undefined) return { resources: [], ...(total && { total: 0 }) }
    const query = {
      where: { ...conditions, ehrId, json: { exists: true } },
      ...(ehrIds.length > 1 && { either: ehrIds.map((id) => ({ ehrId: id })) }),
      limit: Math.max(count, 1),
      cursor: after,
      count: total,
    } as PageQuery<never>
    const compositions = await this.#compositions.list(caller, 'ofEhr', query).catch(noneIfUnknown)
    return {
      resources: count === 0 ? [] : compositions.items.map((one) => documentReferenceOf(this.#base, one)),
      ...(compositions.next !== null && count > 0 && { next: compositions.next }),
      ...(compositions.total !== undefined && { total: compositions.total }),
    }
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
    const composition = await findComposition(this.#compositions, caller, id)
    const { meta } = metaOf(composition)
    return { type: COMPOSITION_TYPE, content: String(this.#toJson(composition)), ...meta }
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
    ...PATIENT_PARAMETERS,
    ...PARAMETERS,
    related: { ...PARAMETERS.related, references: { types: ['CarePlan'], path: 'context.related[0]' } },
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
