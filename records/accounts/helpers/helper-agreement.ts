import { type Static, Type } from '@sinclair/typebox'
import type { ClientSession, Collection, Db } from 'mongodb'
import { HelperActEnum, HelperRelationEnum, HelperStateEnum } from '../../../schemas/enums.ts'
import { emitRolesChangedAtEnd } from '../../ehrs/rights/roles.ts'
import type { Database } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { deleteHistories } from '../../store/writing/history.ts'

/** The person, and the user who acts for them. */
export interface Parties {
  mvUid: string
  helperId: string
}

/** An agreement that a helper acts for a person. Two users have at most one in each direction. */
export const HelperAgreementRecord = Type.Object({
  mvUid: Type.String(),
  helperId: Type.String(),
  relation: HelperRelationEnum,
  acts: Type.Array(HelperActEnum),
  from: Type.String({ format: 'date-time' }),
  until: Type.String({ format: 'date-time' }),
  state: HelperStateEnum,
})
export type HelperAgreementFields = Static<typeof HelperAgreementRecord>

/** An agreement as it is stored. */
type StoredAgreement = ParseDocument &
  Omit<HelperAgreementFields, 'from' | 'until'> & { from: Date; until: Date }

export const HELPER_AGREEMENTS = 'auth.helpers'

export const helperAgreementsOf = (db: Db): Collection<StoredAgreement> =>
  db.collection<StoredAgreement>(HELPER_AGREEMENTS)

export const agreementIdOf = ({ mvUid, helperId }: Parties): string => `${mvUid}-${helperId}`

/** Whether the agreement with this id is between the user and somebody else. */
export const isPartyOf = (agreementId: string, userId: string): boolean =>
  agreementId.startsWith(`${userId}-`) || agreementId.endsWith(`-${userId}`)

/** Whether the helper may act now. */
export const isInForce = (
  { state, from, until }: { state: string; from: Date | string; until: Date | string },
  now: Date,
): boolean => state === 'ACTIVE' && new Date(from) <= now && now < new Date(until)

/** Ends the sessions under agreements that end: a later agreement of the same people does not bring them back. */
export async function endHelperSessions(
  db: Db,
  agreementIds: readonly string[],
  session: ClientSession,
): Promise<void> {
  const underThem = { 'helper.agreementId': { $in: [...agreementIds] } }
  await db.collection('_Session').deleteMany(underThem, { session })
}

/** Erases the agreements of a person, and those in which they help others, with their history. */
export async function eraseAgreementsOf(
  { client, db }: Database,
  session: ClientSession,
  userId: string,
): Promise<void> {
  emitRolesChangedAtEnd({ client }, session)
  const partyFilter = { $or: [{ mvUid: userId }, { helperId: userId }] }
  const agreements = await helperAgreementsOf(db)
    .find(partyFilter, { session, projection: { _id: 1 } })
    .toArray()
  await helperAgreementsOf(db).deleteMany(partyFilter, { session })
  const ids = agreements.map(({ _id }) => _id)
  await endHelperSessions(db, ids, session)
  const records = ids.map((id) => ({ collection: HELPER_AGREEMENTS, id }))
  await deleteHistories(db, records, session)
}
