import { assertStatus } from '../clients/path-client.ts'
import { createPerson, type Person } from '../people/people.ts'

/** A user with a profile. Paths without a leading slash are relative to it. */
export type Owner = Person

export async function createOwner(about: { name?: string } = {}): Promise<Owner> {
  const person = await createPerson(about)
  const profile = `/profile/${person.mvUid}`
  const call: Person['call'] = (method, path, ...more) =>
    person.call(method, path.startsWith('/') ? path : `${profile}/${path}`.replace(/\/$/, ''), ...more)
  return { ...person, call }
}

/** Connects two users. */
export async function connectUsers(one: Person, other: Person): Promise<void> {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const)
    assertStatus(await from.call('POST', `/profile/${from.mvUid}/network`, { mvUid: to.mvUid }), 201)
}
