import { createPerson, type Person } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

/** A user whose login was long ago: somebody who finds the device has the session, but not the password. */
export async function createIdleUser(): Promise<Person> {
  const person = await createPerson()
  await ageSession(person.sessionToken, 11)
  return person
}

/** Dates the start of a session back by some minutes. */
export async function ageSession(sessionToken: string, minutes: number): Promise<void> {
  const _created_at = new Date(Date.now() - minutes * 60_000)
  await service.db
    .collection('_Session')
    .updateOne({ _session_token: sessionToken }, { $set: { _created_at } })
}

/** The stored account with an address. */
export const findAccount = (email: string) => service.db.collection('_User').findOne({ email })
