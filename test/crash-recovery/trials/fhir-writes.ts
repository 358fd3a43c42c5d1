import type { MappedKind } from '../../../fhir/resources/kinds/kind-streams.ts'
import { renderRecord } from '../../../fhir/resources/render.ts'
import { isMapped } from '../../../records/fhir/mapping.ts'
import { CLASS_NAMES, type ClassName, classKindOf } from '../../../records/kinds.ts'
import { fromPathNames } from '../../../schemas/forms/fields.ts'
import { exampleBody, exampleObject, parentIdsOf } from '../../harness/care/samples/examples.ts'
import { isFullSize } from '../../harness/test-size.ts'
import type { EhrPart, TrialEhr } from './clinic.ts'
import { type ClinicalWrite, withGoal } from './clinical-writes.ts'

type Resource = Record<string, unknown>

/** One kind of each resource type that clients write; at full size all. */
const WRITTEN_KINDS = CLASS_NAMES.filter((name, i) => {
  const { fhir, readOnly } = classKindOf(name)
  if (!isMapped(fhir) || readOnly) return false
  return isFullSize || !CLASS_NAMES.slice(0, i).some((other) => typeOf(other) === fhir.type)
})

function typeOf(name: ClassName): string | undefined {
  const { fhir } = classKindOf(name)
  return isMapped(fhir) ? fhir.type : undefined
}

/** The example of a kind as a resource. */
function resourceOf(name: ClassName, place: TrialEhr): Resource {
  const kind = classKindOf(name) as MappedKind
  const { ehrId = '', carePlanId = '', goalId = '' } = place
  const parents = parentIdsOf(name, { ehrId, carePlanId, goalId })
  const values = { status: 'ACTIVE', ...fromPathNames(kind.fields, exampleBody(name)), ...parents }
  const metadata = { id: place.recordId ?? 'new', version: 1, createdAt: '', updatedAt: '' }
  const { careTeam: _, meta: __, ...resource } = renderRecord(kind.fhir, { ...values, ehrId, ...metadata })
  return resource
}

const recordOf = (name: ClassName): EhrPart => ({
  make: (place) => ({
    method: 'POST',
    path: `/1/classes/${name}`,
    body: { ...exampleObject(name), ...parentIdsOf(name, place) },
  }),
  id: 'recordId',
})

/** Creation, update and deletion of each type. */
function createTypeWrites(name: ClassName): ClinicalWrite[] {
  const path = `/fhir/R4/${typeOf(name)}`
  const one = ({ recordId }: TrialEhr) => `${path}/${recordId}`
  const shares = name
  return [
    {
      name: `create a ${typeOf(name)} (${name}) in FHIR`,
      given: [...withGoal],
      shares,
      ask: (place) => ({ method: 'POST', path, body: resourceOf(name, place) }),
    },
    {
      name: `update a ${typeOf(name)} (${name}) in FHIR`,
      given: [...withGoal, recordOf(name)],
      shares,
      ask: (place) => ({ method: 'PUT', path: one(place), body: resourceOf(name, place) }),
    },
    {
      name: `delete a ${typeOf(name)} (${name}) in FHIR`,
      given: [...withGoal, recordOf(name)],
      shares,
      ask: (place) => ({ method: 'DELETE', path: one(place) }),
    },
  ]
}

const PLAN_URL = 'urn:uuid:0f6ee8bb-9e3a-4c53-8c5f-0c8a9e7f2b01'

/** A plan with a goal, a measurement and an update of a record. */
const transactionOf = (place: TrialEhr) => {
  const post = (name: ClassName, more: object) => ({
    resource: { ...resourceOf(name, place), id: undefined, ...more },
    request: { method: 'POST', url: typeOf(name) },
  })
  const basedOn = [{ reference: PLAN_URL }]
  const carePlan = { url: 'urn:health-record-service:care-plan', valueReference: { reference: PLAN_URL } }
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      post('BodyWeight', { basedOn }),
      post('Goal', { extension: [carePlan] }),
      { fullUrl: PLAN_URL, ...post('CarePlan', {}) },
      {
        resource: resourceOf('Diagnosis', place),
        request: { method: 'PUT', url: `Condition/${place.recordId}` },
      },
    ],
  }
}

/** The writes of the FHIR API, by the table of resource types. */
export const FHIR_WRITES: readonly ClinicalWrite[] = [
  {
    name: 'carry out a transaction in FHIR',
    given: [...withGoal, recordOf('Diagnosis')],
    ask: (place) => ({ method: 'POST', path: '/fhir/R4', body: transactionOf(place) }),
  },
  ...WRITTEN_KINDS.flatMap(createTypeWrites),
]
