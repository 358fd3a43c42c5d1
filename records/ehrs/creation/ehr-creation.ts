import type { ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { type Caller, isAdmin, type Permissions } from '../../store/documents/caller.ts'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import { accessesByEhr } from '../../store/resource.ts'
import { createHistoryEntry } from '../../store/writing/history.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import { type EhrAccessFields, ehrPermissions, hasUserIdFormat, isSystemId } from '../rights/access.ts'
import { createEhrRoles } from '../rights/roles.ts'

/** The properties of a new EHR in addition to its subject. */
interface EhrCreation {
  creatorId?: string
  pending: boolean
  permissions: Permissions
}

/**
 * Applies the rules for creating EHRs, and creates the roles of the new EHR.
 * - About oneself: the EHR belongs to the caller.
 * - About a possible user: it is the creator's alone until that user accepts it.
 * - About a user, by an administrator or the service: it belongs to the user at once, not to the creator.
 * - About anybody else: it is the creator's.
 * A connected system is responsible for what it creates, whoever the subject is.
 * @throws RuleViolated when the caller has created too many EHRs
 */
export async function prepareEhrCreation(
  context: Pick<StoreContext, 'client' | 'db' | 'clock' | 'notifyOfPendingEhr'>,
  { session }: Pick<Transaction, 'session'>,
  caller: Caller,
  { _id, subjectId }: { _id: string; subjectId: string },
): Promise<EhrCreation> {
  const { userId, unrestricted } = caller
  const isOwn = subjectId === userId
  const assigns = unrestricted === true || isAdmin(caller)
  const pending = !isOwn && !assigns && hasUserIdFormat(subjectId)
  const isOthers = isOwn || (assigns && (unrestricted || (await isExistingUser(context, session, subjectId))))
  if (!hasNoQuota(caller)) await consumeEhrQuota(context, session, userId, _id)
  await createEhrRoles(context, session, _id, isOthers || isSystemId(userId) ? undefined : userId)
  if (pending) await context.notifyOfPendingEhr(subjectId, session)
  const creator = unrestricted ? {} : { creatorId: userId }
  const ehr: EhrAccessFields = { _id, subjectId, pending, ...creator }
  return { ...creator, pending, permissions: ehrPermissions(ehr) }
}

const isExistingUser = async (database: Database, session: ClientSession, _id: string): Promise<boolean> =>
  (await documentCollection(database, '_User').findOne({ _id }, { projection: { _id: 1 }, session })) !== null

/** EHRs that an account may create, in addition to its own one; administrators and systems have no limit. */
const MAX_EHRS_PER_CREATOR = 100

interface EhrCreator {
  _id: string
  made: { id: string; at: Date }[]
}

/** No Parse class can have a name with a dot, so the class family never reaches the collection. */
export const ehrCreatorsOf = ({ db }: Pick<Database, 'db'>): Collection<EhrCreator> =>
  db.collection<EhrCreator>('ehr.makers')

const hasNoQuota = (caller: Caller): boolean =>
  caller.unrestricted === true || isAdmin(caller) || isSystemId(caller.userId)

/** The resources that a creation of an EHR queues for: each account creates one EHR after the other. */
export const ehrCreationQueue = (caller: Caller): string[] => (hasNoQuota(caller) ? [] : [caller.userId])

/**
 * Records a created EHR in one document per account. Concurrent creations of other processes conflict there,
 * and all but one retry.
 */
async function consumeEhrQuota(
  context: Pick<StoreContext, 'db' | 'clock'>,
  session: ClientSession,
  userId: string,
  id: string,
): Promise<void> {
  const makers = ehrCreatorsOf(context)
  const at = context.clock()
  const before = await makers.findOneAndUpdate(
    { _id: userId },
    { $push: { made: { id, at } } },
    { session, upsert: true, returnDocument: 'before' },
  )
  if (before === null || before.made.length < MAX_EHRS_PER_CREATOR) return
  const ids = { _id: { $in: before.made.map(({ id }) => id) } }
  const ehrs = await documentCollection(context, 'Ehr').find(ids, { session }).toArray()
  const existing = new Set<unknown>(ehrs.map(({ _id }) => _id))
  const left = before.made.filter(({ id }) => existing.has(id))
  if (left.length >= MAX_EHRS_PER_CREATOR)
    throw new ServiceError('RuleViolated', { violations: [tooManyEhrsViolation] })
  await makers.updateOne({ _id: userId }, { $set: { made: [...left, { id, at }] } }, { session })
}

const tooManyEhrsViolation = {
  path: 'subjectId',
  code: 'full',
  message: `cannot get another EHR: the account has already created ${MAX_EHRS_PER_CREATOR} EHRs, the maximum`,
}

/** Adds history and audit of an EHR that was written without its store. */
export function recordEhrCreation(
  { changes, accesses }: Transaction,
  caller: Caller,
  ehrId: string,
  { version, at }: { version: number; at: Date },
): void {
  const change = { action: 'create' as const, version, before: null, changed: [] }
  changes.push(createHistoryEntry({ collection: 'Ehr', id: ehrId, ehrId }, { caller, at }, change))
  const resource = { collection: 'Ehr', ehr: 'id' } as const
  accesses.push(...accessesByEhr(resource, caller, { action: 'create' }, [{ id: ehrId }]))
}
