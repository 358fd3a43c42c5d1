import type { EventEmitter } from 'node:events'
import type { ClientSession, Collection, MongoClient } from 'mongodb'
import type { Database } from '../../store/documents/database.ts'
import { makeIndexes } from '../../store/documents/indexes.ts'
import { type ParseDocument, storedPermissions } from '../../store/documents/parse-format.ts'
import { ehrRole, type PlanRight, planRole } from './access.ts'

/** A row of one of Parse's join collections: a role (owning) holds a user or a child role (related). */
interface Membership {
  _id: string
  owningId: string
  relatedId: string
}

const memberships = ({ db }: Database, of: 'users' | 'roles'): Collection<Membership> =>
  db.collection<Membership>(`_Join:${of}:_Role`)

/** The client, which all share who work on one database, carries the news. */
const newsOf = (client: MongoClient) => client as unknown as EventEmitter<{ rolesChanged: [] }>

/** Has `changed` called when who holds which role has changed in this process: what is cached of it is out of date. */
export function onRoleChange({ client }: Pick<Database, 'client'>, changed: () => void): void {
  newsOf(client).on('rolesChanged', changed)
}

/** Once the transaction is over: before, nobody else sees the change. */
function tell({ client }: Database, session: ClientSession): void {
  session.once('ended', () => newsOf(client).emit('rolesChanged'))
}

/** Makes the indexes for queries by role and by membership. */
export async function indexRoles(database: Database): Promise<void> {
  for (const of of ['users', 'roles'] as const)
    await makeIndexes(memberships(database, of), [{ key: { relatedId: 1 } }, { key: { owningId: 1 } }])
}

type Role = Pick<ParseDocument, '_id' | '_created_at' | '_updated_at' | '_rperm' | '_wperm' | '_acl'> & {
  name: string
}

const roles = ({ db }: Database): Collection<Role> => db.collection<Role>('_Role')

/** No client may see or change a role, and its name is its id: nothing has to be looked up. */
function newRole(name: string): Role {
  const at = new Date()
  return { _id: name, name, _created_at: at, _updated_at: at, ...storedPermissions({ read: [], write: [] }) }
}

const membership = (owningId: string, relatedId: string): Membership => ({
  _id: `${owningId}$${relatedId}`,
  owningId,
  relatedId,
})

/** The roles of a new EHR; the creator writes it, unless they are its subject anyway. */
export async function createEhrRoles(
  database: Database,
  session: ClientSession,
  ehrId: string,
  writerId?: string,
): Promise<void> {
  const made = (['read', 'write'] as const).map((right) => newRole(ehrRole(ehrId, right)))
  await roles(database).insertMany(made, { session })
  if (writerId === undefined) return
  await memberships(database, 'users').insertOne(membership(ehrRole(ehrId, 'write'), writerId), { session })
  tell(database, session)
}

/** Removes roles, who holds them and what they were part of. */
export async function removeRoles(
  database: Database,
  session: ClientSession,
  names: string[],
): Promise<void> {
  await roles(database).deleteMany({ _id: { $in: names } }, { session })
  await memberships(database, 'users').deleteMany({ owningId: { $in: names } }, { session })
  await memberships(database, 'roles').deleteMany({ owningId: { $in: names } }, { session })
  await memberships(database, 'roles').deleteMany({ relatedId: { $in: names } }, { session })
  tell(database, session)
}

/** Gives or takes a role of the service as a whole; the role itself is made when it is first given. */
export async function setRole(
  database: Database,
  session: ClientSession,
  userId: string,
  name: string,
  held: boolean,
): Promise<void> {
  const { _id, ...rest } = newRole(name)
  const row = membership(_id, userId)
  if (held) {
    await roles(database).updateOne({ _id }, { $setOnInsert: rest }, { session, upsert: true })
    await memberships(database, 'users').replaceOne({ _id: row._id }, row, { session, upsert: true })
  } else {
    await memberships(database, 'users').deleteMany({ owningId: _id, relatedId: userId }, { session })
  }
  tell(database, session)
}

/**
 * Gives or takes the role of a care plan. It is made when it is first given: most plans are their subject's alone.
 * Who holds one reads what belongs to the EHR alone, too.
 */
export async function setPlanRole(
  database: Database,
  session: ClientSession,
  userId: string,
  { ehrId, carePlanId, right }: { ehrId: string; carePlanId: string; right: PlanRight },
  held: boolean,
): Promise<void> {
  const name = planRole(carePlanId, right)
  await setRole(database, session, userId, name, held)
  if (!held) return
  const child = membership(ehrRole(ehrId, 'read'), name)
  await memberships(database, 'roles').replaceOne({ _id: child._id }, child, { session, upsert: true })
}

/** Whether it has been made, whoever holds it. */
export const isRole = async (database: Database, session: ClientSession, name: string): Promise<boolean> =>
  (await roles(database).findOne({ _id: name }, { projection: { _id: 1 }, session })) !== null

/** Takes all roles of a user who is removed. */
export async function leaveRoles(database: Database, session: ClientSession, userId: string): Promise<void> {
  await memberships(database, 'users').deleteMany({ relatedId: userId }, { session })
  tell(database, session)
}

/** Whether a user holds any role of their own. */
export const holdsRoles = async (
  database: Database,
  session: ClientSession,
  userId: string,
): Promise<boolean> =>
  (await memberships(database, 'users').findOne({ relatedId: userId }, { session })) !== null

/** The names of all roles that a user holds, those that come with another role included. */
export async function rolesOf(database: Database, userId: string): Promise<string[]> {
  const held = new Set<string>()
  let found = await owning(database, 'users', [userId])
  while (found.length > 0) {
    for (const id of found) held.add(id)
    found = (await owning(database, 'roles', found)).filter((id) => !held.has(id))
  }
  if (held.size === 0) return []
  const named = roles(database).find({ _id: { $in: [...held] } }, { projection: { name: 1 } })
  return (await named.toArray()).map(({ name }) => name)
}

/** Of several users, those who hold a role of their own: `{ <userId>: [<role>, …] }`, by the roles' ids. */
export async function directRoles(
  database: Database,
  userIds: readonly string[],
  names: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await memberships(database, 'users')
    .find({ relatedId: { $in: [...userIds] }, owningId: { $in: [...names] } })
    .toArray()
  const held = new Map<string, string[]>()
  for (const { relatedId, owningId } of rows) held.set(relatedId, [...(held.get(relatedId) ?? []), owningId])
  return held
}

/** Those who hold a role of the service as a whole themselves, by their ids. */
export async function holdersOf(database: Database, name: string): Promise<string[]> {
  const rows = await memberships(database, 'users').find({ owningId: name }).toArray()
  return rows.map(({ relatedId }) => relatedId)
}

async function owning(database: Database, of: 'users' | 'roles', related: string[]): Promise<string[]> {
  const rows = await memberships(database, of)
    .find({ relatedId: { $in: related } })
    .toArray()
  return rows.map(({ owningId }) => owningId)
}

/** The users who hold one of these roles, be it with another role that is part of it. */
export async function usersWithRoles(database: Database, names: readonly string[]): Promise<string[]> {
  const roles = new Set(names)
  let found = [...names]
  while (found.length > 0) {
    const children = await memberships(database, 'roles')
      .find({ owningId: { $in: found } })
      .toArray()
    found = children.map(({ relatedId }) => relatedId).filter((id) => !roles.has(id))
    for (const id of found) roles.add(id)
  }
  const rows = await memberships(database, 'users')
    .find({ owningId: { $in: [...roles] } })
    .toArray()
  return [...new Set(rows.map(({ relatedId }) => relatedId))]
}
