import type { ClientSession, Collection } from 'mongodb'
import { ehrRole, planRole } from './access.ts'
import type { Database } from './database.ts'
import { type ParseDocument, storedPermissions } from './parse-format.ts'

/** A row of one of Parse's join collections: a role (owning) holds a user or a child role (related). */
interface Membership {
  _id: string
  owningId: string
  relatedId: string
}

const memberships = ({ db }: Database, of: 'users' | 'roles'): Collection<Membership> =>
  db.collection<Membership>(`_Join:${of}:_Role`)

/** Makes what is asked about each role and each membership quick to answer. */
export async function indexRoles(database: Database): Promise<void> {
  for (const of of ['users', 'roles'] as const)
    await memberships(database, of).createIndexes([{ key: { relatedId: 1 } }, { key: { owningId: 1 } }])
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

/** The roles of a new EHR; the creator writes it, when he is not its subject anyway. */
export async function createEhrRoles(
  database: Database,
  session: ClientSession,
  ehrId: string,
  writerId?: string,
): Promise<void> {
  const made = (['read', 'write'] as const).map((right) => newRole(ehrRole(ehrId, right)))
  await roles(database).insertMany(made, { session })
  if (writerId !== undefined)
    await memberships(database, 'users').insertOne(membership(ehrRole(ehrId, 'write'), writerId), { session })
}

/** The roles of a new care plan; who holds one reads what belongs to the EHR alone. */
export async function createPlanRoles(
  database: Database,
  session: ClientSession,
  ehrId: string,
  carePlanId: string,
): Promise<void> {
  const names = (['read', 'write'] as const).map((right) => planRole(carePlanId, right))
  await roles(database).insertMany(names.map(newRole), { session })
  const children = names.map((name) => membership(ehrRole(ehrId, 'read'), name))
  await memberships(database, 'roles').insertMany(children, { session })
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
}
