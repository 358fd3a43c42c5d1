import type { Filter } from 'mongodb'
import { referencedId } from '../../records/fhir/elements.ts'
import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import { type Database, documentCollection } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { Transaction } from '../../records/store/writing/transaction.ts'
import { parameterError, requireKnownModifier } from '../outcome/issue.ts'
import type { SearchCriterion } from '../sources/resource-search.ts'

/** A search that names no patient covers at most this many. */
export const MAX_SEARCHED_PATIENTS = 20

const PATIENT_PARAMETER = {
  type: 'reference',
  description: 'Patient: the id of an EHR',
  references: { types: ['Patient'], path: 'subject' },
} as const

/** The search parameters of a type whose resources name their patient as the subject. */
export const PATIENT_PARAMETERS = { patient: PATIENT_PARAMETER, subject: PATIENT_PARAMETER }

/** The ids of EHRs that a caller may read, newest first; one more than a search may cover means too many. */
async function readableEhrIds(database: Pick<Database, 'db'>, caller: Caller): Promise<string[]> {
  const readable = permissionFilter('_rperm', caller) as Filter<ParseDocument>
  const readableEhrs = documentCollection(database, 'Ehr').find(readable, { projection: { _id: 1 } })
  const ehrs = await readableEhrs
    .sort({ _created_at: -1 })
    .limit(MAX_SEARCHED_PATIENTS + 1)
    .toArray()
  return ehrs.map(({ _id }) => _id)
}

export async function isReadableEhr(
  database: Pick<Database, 'db'>,
  caller: Caller,
  _id: string,
): Promise<boolean> {
  const readable = { _id, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  return (await documentCollection(database, 'Ehr').findOne(readable, { projection: { _id: 1 } })) !== null
}

/** An actor is a patient or somebody else. */
const isPatientActor = ({ name, modifier, values }: SearchCriterion) =>
  name === 'actor' &&
  values.every((text) => modifier === 'Patient' || referencedId(text, 'Patient') !== undefined)

export const isPatientCriterion = (one: SearchCriterion) =>
  one.name === 'patient' || one.name === 'subject' || isPatientActor(one)

/** @throws InvalidInput for a value that is neither true nor false */
function isMissing({ name, modifier, values: [text] }: SearchCriterion): boolean {
  if (modifier !== 'missing') return false
  if (text === 'true' || text === 'false') return text === 'true'
  throw parameterError(`${name}:missing`, 'enum', 'must be true or false')
}

/** The id of a patient: of a reference, or alone. */
export const patientIdOf = (text: string): string => referencedId(text, 'Patient') ?? text

/**
 * The EHRs of the criteria `patient` and `subject`, which must all match; without them, those of the caller.
 * @throws InvalidInput for too many
 */
export async function searchedEhrIds(
  database: Pick<Database, 'db'>,
  caller: Caller,
  criteria: readonly SearchCriterion[],
): Promise<string[]> {
  const ofPatient = criteria.filter(isPatientCriterion)
  // Every record belongs to a patient.
  if (ofPatient.some(isMissing)) return []
  const idLists = ofPatient.flatMap(({ name, modifier, values }) => {
    if (modifier === 'missing') return []
    requireKnownModifier({ name, modifier }, ['Patient'])
    return [
      values.flatMap((text) => referencedId(text, 'Patient') ?? (/^[\w.-]{1,64}$/.test(text) ? [text] : [])),
    ]
  })
  const [first, ...otherLists] = idLists
  const ids = first
    ? [...new Set(first.filter((id) => otherLists.every((otherIds) => otherIds.includes(id))))]
    : await readableEhrIds(database, caller)
  if (ids.length <= MAX_SEARCHED_PATIENTS) return ids
  throw parameterError('patient', 'too-costly', `must name at most ${MAX_SEARCHED_PATIENTS} patients`)
}

/** The care plan in which a new record belongs if it names none: the patient's only open one. */
export async function findOnlyOpenPlan(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
): Promise<string | undefined> {
  const open = { ehrId, status: 'ACTIVE', ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const plans = documentCollection(database, 'CarePlan').find(open, { projection: { _id: 1 } })
  const [plan, another] = await plans.limit(2).toArray()
  return another ? undefined : plan?._id
}

/** The care plan of a goal that the caller may read. @param tx may have created the goal */
export async function findPlanOfGoal(
  database: Pick<Database, 'db'>,
  caller: Caller,
  { ehrId, goalId }: { ehrId: string; goalId: string },
  tx: Pick<Transaction, 'session'> | undefined,
): Promise<string | undefined> {
  const goal = { _id: goalId, ehrId, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const options = { projection: { carePlanId: 1 }, ...(tx && { session: tx.session }) }
  const goalDocument = await documentCollection(database, 'Goal').findOne(goal, options)
  return goalDocument ? String(goalDocument.carePlanId) : undefined
}
