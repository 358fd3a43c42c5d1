import assert from 'node:assert/strict'
import { resourceTypes } from '../../../fhir/resource-types.ts'
import type { MappedKind } from '../../../fhir/resources/kinds/kind-streams.ts'
import type { ResourceType } from '../../../fhir/sources/resource-source.ts'
import type { Access } from '../../../path-api/operation/access.ts'
import { isMapped } from '../../../records/fhir/mapping.ts'
import { CLASS_NAMES, type ClassName, classKindOf } from '../../../records/kinds.ts'
import { createByPath } from '../../family-kinds.ts'
import type { CallerName, Ids, Verdict } from '../../harness/care/access-fixture.ts'
import type { Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { isFullSize } from '../../harness/test-size.ts'
import { type Json, readFhir } from '../fhir-client.ts'
import { createSubscription, subscriptionOf } from '../subscriptions/subscription-requests.ts'

/** The rights of a caller: by a rule of the path family, or by a rule of its own. */
type Rule = Access | ((caller: CallerName) => Verdict)

/** A resource of a type in a care plan of a patient. */
export interface TypeExample {
  type: ResourceType
  id: string
  /** The parameter by which a search finds it. */
  query: string
  read: Rule
  create?: Rule
  update?: Rule
  delete?: Rule
  /** Other resources of the type may have the same natural key. */
  isKeyed: boolean
}

/** The first kind of each resource type; at full size each kind. */
const SAMPLED = CLASS_NAMES.filter((name, i) => {
  const { fhir } = classKindOf(name)
  const isFirst = !CLASS_NAMES.slice(0, i).some((other) => {
    const form = classKindOf(other).fhir
    return isMapped(form) && isMapped(fhir) && form.type === fhir.type
  })
  return isMapped(fhir) && (isFullSize || isFirst)
})

const only =
  (...callers: CallerName[]) =>
  (caller: CallerName): Verdict =>
    caller === 'anonymous' ? 401 : callers.includes(caller) ? 'done' : 404

type OtherExample = Omit<TypeExample, 'type' | 'isKeyed'>

/** The types without a kind. */
const OTHER_EXAMPLES: Readonly<
  Record<string, (patient: Patient, ids: Ids) => OtherExample | Promise<OtherExample>>
> = {
  Patient: ({ ehrId }) => ({ id: ehrId, query: `_id=${ehrId}`, read: 'ehr:read' }),
  Practitioner: ({ mvUid }) => ({ id: mvUid, query: `_id=${mvUid}`, read: only('subject', 'connection') }),
  RelatedPerson: ({ ehrId }) => ({ id: `${ehrId}.1`, query: `patient=${ehrId}`, read: only('subject') }),
  CareTeam: ({ ehrId }, ids) => ({ id: ids.careplanId ?? '', query: `patient=${ehrId}`, read: 'plan:read' }),
  DocumentReference: ({ ehrId }, ids) => ({
    id: ids.compositionId ?? '',
    query: `patient=${ehrId}`,
    read: 'plan:read',
  }),
  Binary: (_, ids) => ({ id: ids.compositionId ?? '', query: '', read: 'plan:read' }),
  Questionnaire: () => ({ id: 'acq-6', query: 'name=ACQ', read: 'user' }),
  Subscription: async (patient) => {
    const id = await createSubscription(patient, subscriptionOf(`Task?patient=${patient.ehrId}`))
    const ownResource = only('subject')
    return {
      id,
      query: `_id=${id}`,
      read: ownResource,
      create: 'user',
      update: ownResource,
      delete: ownResource,
    }
  },
  AuditEvent: ({ ehrId }) => ({ id: '', query: `patient=${ehrId}`, read: 'ehr:subject' }),
  Provenance: (_, { careplanId = '' }) => ({
    id: `CarePlan.${careplanId}.1`,
    query: `target=CarePlan/${careplanId}`,
    read: 'plan:read',
  }),
}

/** The rules for the records of a kind. */
function rulesOf({ name, parentType, parentIds: place }: MappedKind, isInPlan: boolean) {
  if (name === 'CarePlan')
    return { read: 'plan:read', create: 'ehr:write', update: 'plan:write', delete: 'plan:delete' } as const
  if (parentType === 'EHR' || !('carePlanId' in place) || !isInPlan)
    return { read: 'ehr:read', create: 'ehr:write', update: 'ehr:write', delete: 'ehr:write' } as const
  return { read: 'plan:read', create: 'plan:write', update: 'plan:write', delete: 'plan:write' } as const
}

/** A chat message, which the service creates with its topic. */
async function createMessage(patient: Patient, carePlanId: string): Promise<string> {
  const topic = { title: 'Tablets', text: 'With meals?' }
  assertStatus(await patient.call('POST', `/chat/careplan/${carePlanId}`, topic), 201)
  const { entry } = await readFhir(patient, `Communication?patient=${patient.ehrId}`)
  return entry[0].resource.id
}

/** A new record of a kind. */
async function createRecord(patient: Patient, name: ClassName, ids: Ids): Promise<string> {
  const { ehrId } = patient
  const { careplanId = '', goalId = '' } = ids
  if (name === 'ChatMessage') return createMessage(patient, careplanId)
  return String((await createByPath(patient, name, { ehrId, carePlanId: careplanId, goalId })).id)
}

/** A resource of each type in a care plan, whose own resources are in `ids`. A type without an example fails. */
export async function createExamplesOfTypes(patient: Patient, ids: Ids): Promise<TypeExample[]> {
  const relation = { name: { displayName: 'Piet' }, type: 'SIBLING' }
  assertStatus(await patient.call('POST', `/profile/${patient.mvUid}/relation`, relation), 201)
  const typeOf = (name: string) => resourceTypes.find(({ type }) => type === name) as ResourceType
  const examples: TypeExample[] = []
  for (const name of SAMPLED) {
    const kind = classKindOf(name) as MappedKind
    const existingId = { CarePlan: ids.careplanId, Goal: ids.goalId, Task: ids.taskId }[name as string]
    const id = existingId ?? (await createRecord(patient, name, ids))
    const resource: Json = await readFhir(patient, `${kind.fhir.type}/${id}`)
    const isInPlan = JSON.stringify(resource).includes(ids.careplanId ?? '')
    const isKeyed = kind.naturalKey !== undefined
    const type = typeOf(kind.fhir.type)
    examples.push({ type, id, query: `patient=${patient.ehrId}`, ...rulesOf(kind, isInPlan), isKeyed })
  }
  for (const [name, exampleOf] of Object.entries(OTHER_EXAMPLES))
    examples.push({ type: typeOf(name), ...(await exampleOf(patient, ids)), isKeyed: false })
  const covered = new Set(examples.map(({ type }) => type))
  assert.deepEqual(
    resourceTypes.filter((type) => !covered.has(type)).map(({ type }) => type),
    [],
  )
  return examples
}
