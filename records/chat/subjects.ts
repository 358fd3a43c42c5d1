import { type About, GOES_WITH } from '../../schemas/chat.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { pairRole } from '../ehrs/rights/access.ts'
import { unnamedFor } from '../ehrs/rights/anonymity.ts'
import { type Caller, type Permissions, permitted } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { Records } from '../store/writing/transaction.ts'

const COLLECTIONS: Readonly<Partial<Record<About, string>>> = {
  careplan: 'CarePlan',
  goal: 'Goal',
  task: 'Task',
  event: 'Event',
  ehr: 'Ehr',
}

/** What is talked about, as one finds it who may see it. */
export interface Subject {
  about: About
  aboutId: string
  /** None between two users. */
  ehrId?: string
  carePlanId?: string
  /** By their fields, the ids of the goal, the task and the event that what is said goes with. */
  goesWith?: Readonly<Record<string, string>>
  /** Who may see it, and who may change it. */
  permissions: Permissions
  /** Whether people stay unnamed there. */
  unnamed: boolean
}

interface Connections {
  areConnected(mvUid: string, other: string): Promise<boolean>
}

/** @throws NotFound for what the caller may not see */
export async function subjectFor(
  records: Records,
  connections: Connections,
  caller: Caller,
  about: About,
  id: string,
): Promise<Subject> {
  const collection = COLLECTIONS[about]
  if (collection === undefined) return ofTwo(connections, caller, id)
  const found = await documentsOf(records, collection).findOne(
    { _id: id, ...permitted('_rperm', caller) },
    { projection: { ehrId: 1, carePlanId: 1, goalId: 1, anonymous: 1, _rperm: 1, _wperm: 1 } },
  )
  if (!found) throw new ServiceError('NotFound')
  const ehrId = about === 'ehr' ? id : String(found.ehrId)
  const carePlanId = about === 'careplan' ? id : (found.carePlanId as string | undefined)
  caller.onAccess?.(ehrId)
  return {
    ...{ about, aboutId: id, ehrId },
    ...(carePlanId !== undefined && { carePlanId }),
    goesWith: {
      ...(found.goalId !== undefined && { goalId: found.goalId as string }),
      ...(GOES_WITH.includes(`${about}Id`) && { [`${about}Id`]: id }),
    },
    permissions: { read: found._rperm, write: found._wperm },
    unnamed:
      (about === 'careplan' ? found.anonymous === true : await isAnonymous(records, carePlanId)) ||
      (await unnamedFor(records, caller)).has(ehrId),
  }
}

/** Two users who are connected; whichever of them asks, it is the same place. */
async function ofTwo(connections: Connections, caller: Caller, other: string): Promise<Subject> {
  const { userId } = caller
  if (other === userId || !(await connections.areConnected(userId, other))) throw new ServiceError('NotFound')
  caller.onAccess?.(other)
  const both = [userId, other].sort()
  return {
    ...{ about: 'network', aboutId: both.join('-') },
    permissions: { read: [`role:${pairRole(userId, other)}`], write: both },
    unnamed: false,
  }
}

async function isAnonymous(records: Records, carePlanId: string | undefined): Promise<boolean> {
  if (carePlanId === undefined) return false
  const plans = documentsOf(records, 'CarePlan')
  const plan = await plans.findOne({ _id: carePlanId }, { projection: { anonymous: 1 } })
  return plan?.anonymous === true
}
