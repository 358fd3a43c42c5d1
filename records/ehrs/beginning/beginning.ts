import type { ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { type Caller, isAdmin, type Permissions } from '../../store/documents/caller.ts'
import { type Database, documentsOf } from '../../store/documents/database.ts'
import { LONGEST_REQUEST_MS } from '../../store/writing/removal/recent-removals.ts'
import type { Records, Transaction } from '../../store/writing/transaction.ts'
import { type EhrHead, ehrPermissions, mayBeUser } from '../rights/access.ts'
import { createEhrRoles } from '../rights/roles.ts'

/** What an EHR is created with, in addition to its subject. */
interface Beginning {
  creatorId?: string
  pending: boolean
  permissions: Permissions
}

/**
 * Who may make an EHR about whom, and whose it is then. About oneself: one's own. About somebody who may be a user: the
 * creator's alone until that user agrees; by an administrator or the service, the user's at once and not the creator's.
 * About anybody else: the creator's. Its roles are made here, before the EHR is or together with it.
 * @throws RuleViolated for one too many
 */
export async function beginEhr(
  records: Pick<Records, 'client' | 'db' | 'clock' | 'tellOfPendingEhr'>,
  tx: Pick<Transaction, 'session' | 'turn'>,
  caller: Caller,
  { _id, subjectId }: { _id: string; subjectId: string },
): Promise<Beginning> {
  const { session } = tx
  const { userId, unrestricted } = caller
  const isOwn = subjectId === userId
  const assigns = unrestricted === true || isAdmin(caller)
  const pending = !isOwn && !assigns && mayBeUser(subjectId)
  const isOthers = isOwn || (assigns && (unrestricted || (await isUser(records, session, subjectId))))
  if (!assigns) await countFor(records, tx, userId, _id)
  await createEhrRoles(records, session, _id, isOthers ? undefined : userId)
  if (pending) await records.tellOfPendingEhr(subjectId, session)
  const ehr: EhrHead = { _id, subjectId, pending }
  return { ...(unrestricted ? {} : { creatorId: userId }), pending, permissions: ehrPermissions(ehr) }
}

const isUser = async (database: Database, session: ClientSession, _id: string): Promise<boolean> =>
  (await documentsOf(database, '_User').findOne({ _id }, { projection: { _id: 1 }, session })) !== null

/** EHRs that an account may make, the one that came with it not counted; administrators make any number. */
const MOST = 100

interface Maker {
  _id: string
  made: { id: string; at: Date }[]
}

/** A name that no Parse class can have: the class family never reaches it. */
export const makersOf = ({ db }: Pick<Database, 'db'>): Collection<Maker> =>
  db.collection<Maker>('ehr.makers')

/**
 * Notes what an account makes, in one place: of those that it makes at the same time, one goes on and the others are
 * repeated on what that one left. In the class family the EHR itself is written only later, by Parse Server.
 */
async function countFor(
  records: Pick<Records, 'db' | 'clock'>,
  { session, turn }: Pick<Transaction, 'session' | 'turn'>,
  userId: string,
  id: string,
): Promise<void> {
  turn.meet(userId)
  const makers = makersOf(records)
  const at = records.clock()
  const before = await makers.findOneAndUpdate(
    { _id: userId },
    { $push: { made: { id, at } } },
    { session, upsert: true, returnDocument: 'before' },
  )
  if (before === null || before.made.length < MOST) return
  const left = await stillThere(records, session, before.made)
  if (left.length >= MOST) throw new ServiceError('RuleViolated', { violations: [tooMany] })
  await makers.updateOne({ _id: userId }, { $set: { made: [...left, { id, at }] } }, { session })
}

/** Those that have not been deleted: they are there, or may be about to be written. */
async function stillThere(
  records: Pick<Records, 'db' | 'clock'>,
  session: ClientSession,
  made: Maker['made'],
): Promise<Maker['made']> {
  const idsIn = async (name: string): Promise<Set<unknown>> => {
    const found = documentsOf(records, name).find({ _id: { $in: made.map(({ id }) => id) } }, { session })
    return new Set(await found.map(({ _id }) => _id).toArray())
  }
  const [there, removed] = [await idsIn('Ehr'), await idsIn('ehr.removed')]
  const since = records.clock().getTime() - LONGEST_REQUEST_MS
  return made.filter(({ id, at }) => there.has(id) || (at.getTime() > since && !removed.has(id)))
}

const tooMany = {
  path: 'subjectId',
  code: 'full',
  message: `cannot have another EHR: an account makes ${MOST} at most, and those that it made are still there`,
}
