import { newPerson, type Person } from '../people/people.ts'

/** Somebody with a profile. Paths without a leading slash are below it. */
export type Owner = Person

export async function newOwner(about: { name?: string } = {}): Promise<Owner> {
  const person = await newPerson(about)
  const profile = `/profile/${person.mvUid}`
  const call: Person['call'] = (method, path, ...more) =>
    person.call(method, path.startsWith('/') ? path : `${profile}/${path}`.replace(/\/$/, ''), ...more)
  return { ...person, call }
}

/** Two users who are connected. */
export async function connect(one: Owner, other: Owner): Promise<void> {
  await one.call('POST', 'network', { mvUid: other.mvUid })
  await other.call('POST', 'network', { mvUid: one.mvUid })
}
