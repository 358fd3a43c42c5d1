import type { EventEmitter } from 'node:events'
import type { ClientSession, Collection, MongoClient } from 'mongodb'
import { ACCOUNT_ROLES } from '../../../schemas/enums.ts'
import type { Database } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { type ParseDocument, toStoredPermissions } from '../../store/documents/parse-format.ts'
import { ehrRole, type PlanRight, planRole } from './access.ts'
import { reviewAlertsOf, reviewOwnerlessAlerts } from './alert-owners.ts'

/** A row of one of Parse's join collections: a role (owning) contains a user or a child role (related). */
interface Membership {
  _id: string
  owningId: string
  relatedId: string
}

const membershipCollection = ({ db }: Database, relation: 'users' | 'roles'): Collection<Membership> =>
  db.collection<Membership>(`_Join:${relation}:_Role`)

/** The roles of the whole service are for people and their systems, not for the apps that act for them. */
export const withoutAccountRoles = (roles: readonly string[]): string[] =>
  roles.filter((role) => !(ACCOUNT_ROLES as readonly string[]).includes(role))

/** All users of a database share the client, so it carries the events. */
const roleEventsOf = (client: MongoClient) => client as unknown as EventEmitter<{ rolesChanged: [] }>

/** Calls `listener` when role memberships change in this process, so that caches can be cleared. */
export function onRoleChange({ client }: Pick<Database, 'client'>, listener: () => void): void {
  roleEventsOf(client).on('rolesChanged', listener)
}

/** Emits after the end of the transaction: until then the change is invisible to others. */
export function emitRolesChangedAtEnd({ client }: Pick<Database, 'client'>, session: ClientSession): void {
  session.once('ended', () => roleEventsOf(client).emit('rolesChanged'))
}

/** Creates the indexes for queries by role and by member. */
export async function createRoleIndexes(database: Database): Promise<void> {
  for (const relation of ['users', 'roles'] as const)
    await syncIndexes(membershipCollection(database, relation), [
      { key: { relatedId: 1 } },
      { key: { owningId: 1 } },
    ])
}

type Role = Pick<ParseDocument, '_id' | '_created_at' | '_updated_at' | '_rperm' | '_wperm'> & {
  name: string
}

const roleCollection = ({ db }: Database): Collection<Role> => db.collection<Role>('_Role')

/** No client may see or change a role. Its name is its id, which saves a lookup. */
function buildRole(name: string): Role {
  const at = new Date()
  return {
    _id: name,
    name,
    _created_at: at,
    _updated_at: at,
    ...toStoredPermissions({ read: [], write: [] }),
  }
}

const buildMembership = (owningId: string, relatedId: string): Membership => ({
  _id: `${owningId}$${relatedId}`,
  owningId,
  relatedId,
})

/** Creates the roles of a new EHR. The creator becomes a writer, unless they are its subject. */
export async function createEhrRoles(
  database: Database,
  session: ClientSession,
  ehrId: string,
  writerId?: string,
): Promise<void> {
  const roles = (['read', 'write'] as const).map((right) => buildRole(ehrRole(ehrId, right)))
  await roleCollection(database).insertMany(roles, { session })
  if (writerId === undefined) return
  await membershipCollection(database, 'users').insertOne(
    buildMembership(ehrRole(ehrId, 'write'), writerId),
    { session },
  )
  emitRolesChangedAtEnd(database, session)
}

/** Removes roles, their memberships, and their places in other roles. */
export async function removeRoles(
  database: Database,
  session: ClientSession,
  names: string[],
): Promise<void> {
  await roleCollection(database).deleteMany({ _id: { $in: names } }, { session })
  await membershipCollection(database, 'users').deleteMany({ owningId: { $in: names } }, { session })
  await membershipCollection(database, 'roles').deleteMany({ owningId: { $in: names } }, { session })
  await membershipCollection(database, 'roles').deleteMany({ relatedId: { $in: names } }, { session })
  emitRolesChangedAtEnd(database, session)
}

/**
 * Grants or revokes a service-wide role; the role is created with its first grant.
 * @returns whether the user has lost it
 */
export async function setRole(
  database: Database,
  session: ClientSession,
  userId: string,
  name: string,
  isMember: boolean,
): Promise<boolean> {
  const { _id, ...rest } = buildRole(name)
  const row = buildMembership(_id, userId)
  emitRolesChangedAtEnd(database, session)
  if (isMember) {
    await roleCollection(database).updateOne({ _id }, { $setOnInsert: rest }, { session, upsert: true })
    await membershipCollection(database, 'users').replaceOne({ _id: row._id }, row, { session, upsert: true })
    return false
  }
  const memberships = membershipCollection(database, 'users')
  const { deletedCount } = await memberships.deleteMany({ owningId: _id, relatedId: userId }, { session })
  return deletedCount > 0
}

/**
 * Grants or revokes a role of a care plan; the role is created with its first grant, because most plans have
 * no participants. The holders may also read the records of the EHR outside plans.
 */
export async function setPlanRole(
  database: Database,
  session: ClientSession,
  userId: string,
  { ehrId, carePlanId, right }: { ehrId: string; carePlanId: string; right: PlanRight },
  isMember: boolean,
): Promise<void> {
  const name = planRole(carePlanId, right)
  const isLost = await setRole(database, session, userId, name, isMember)
  if (isLost && right === 'write') await reviewAlertsOf(database, session, userId, { carePlanId })
  if (!isMember) return
  if (right === 'write') await reviewOwnerlessAlerts(database, session, carePlanId)
  const child = buildMembership(ehrRole(ehrId, 'read'), name)
  await membershipCollection(database, 'roles').replaceOne({ _id: child._id }, child, {
    session,
    upsert: true,
  })
}

/** The role exists, with or without holders. */
export const isExistingRole = async (
  database: Database,
  session: ClientSession,
  name: string,
): Promise<boolean> =>
  (await roleCollection(database).findOne({ _id: name }, { projection: { _id: 1 }, session })) !== null

/** Revokes all roles of a user who is being removed. */
export async function removeUserFromRoles(
  database: Database,
  session: ClientSession,
  userId: string,
): Promise<void> {
  await membershipCollection(database, 'users').deleteMany({ relatedId: userId }, { session })
  await reviewAlertsOf(database, session, userId)
  emitRolesChangedAtEnd(database, session)
}

/** The user holds a role directly. */
export const hasAnyRole = async (
  database: Database,
  session: ClientSession,
  userId: string,
): Promise<boolean> =>
  (await membershipCollection(database, 'users').findOne({ relatedId: userId }, { session })) !== null

/** Finds the names of all roles of a user, including inherited ones. */
export async function findRolesOfUser(database: Database, userId: string): Promise<string[]> {
  const roleIds = new Set<string>()
  let roles = await findOwningRoles(database, 'users', [userId])
  while (roles.length > 0) {
    for (const id of roles) roleIds.add(id)
    roles = (await findOwningRoles(database, 'roles', roles)).filter((id) => !roleIds.has(id))
  }
  if (roleIds.size === 0) return []
  const cursor = roleCollection(database).find({ _id: { $in: [...roleIds] } }, { projection: { name: 1 } })
  return (await cursor.toArray()).map(({ name }) => name)
}

/** Finds those of the given roles that users hold directly: `{ <userId>: [<role>, …] }`, by role ids. */
export async function findDirectRoles(
  database: Database,
  userIds: readonly string[],
  names: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await membershipCollection(database, 'users')
    .find({ relatedId: { $in: [...userIds] }, owningId: { $in: [...names] } })
    .toArray()
  return rolesByUser(rows)
}

/** Finds the users who hold any of the given roles directly, with those roles: `{ <userId>: [<role>, …] }`. */
export async function findHolders(
  database: Database,
  names: readonly string[],
  limit: number,
): Promise<Map<string, string[]>> {
  const rows = membershipCollection(database, 'users').find({ owningId: { $in: [...names] } })
  return rolesByUser(await rows.limit(limit).toArray())
}

function rolesByUser(rows: readonly Membership[]): Map<string, string[]> {
  const byUser = new Map<string, string[]>()
  for (const { relatedId, owningId } of rows)
    byUser.set(relatedId, [...(byUser.get(relatedId) ?? []), owningId])
  return byUser
}

/** Finds the ids of the users who hold a service-wide role directly. */
export async function findRoleHolders(database: Database, name: string): Promise<string[]> {
  const rows = await membershipCollection(database, 'users').find({ owningId: name }).toArray()
  return rows.map(({ relatedId }) => relatedId)
}

async function findOwningRoles(
  database: Database,
  relation: 'users' | 'roles',
  relatedIds: string[],
): Promise<string[]> {
  const rows = await membershipCollection(database, relation)
    .find({ relatedId: { $in: relatedIds } })
    .toArray()
  return rows.map(({ owningId }) => owningId)
}

/** Finds the users who hold one of these roles, directly or by inheritance. */
export async function findUsersWithRoles(database: Database, names: readonly string[]): Promise<string[]> {
  const roles = new Set(names)
  let newRoles = [...names]
  while (newRoles.length > 0) {
    const children = await membershipCollection(database, 'roles')
      .find({ owningId: { $in: newRoles } })
      .toArray()
    newRoles = children.map(({ relatedId }) => relatedId).filter((id) => !roles.has(id))
    for (const id of newRoles) roles.add(id)
  }
  const rows = await membershipCollection(database, 'users')
    .find({ owningId: { $in: [...roles] } })
    .toArray()
  return [...new Set(rows.map(({ relatedId }) => relatedId))]
}
