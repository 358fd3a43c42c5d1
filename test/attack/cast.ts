import { newPerson, type Person } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

/** Somebody who has logged in long ago: whoever found the device open has the session, and not the password. */
export async function newIdler(): Promise<Person> {
  const person = await newPerson()
  await age(person.sessionToken, 11)
  return person
}

/** Lets a session have begun some minutes earlier. */
export async function age(sessionToken: string, minutes: number): Promise<void> {
  const _created_at = new Date(Date.now() - minutes * 60_000)
  await service.db
    .collection('_Session')
    .updateOne({ _session_token: sessionToken }, { $set: { _created_at } })
}

/** The account that holds an address, as it is stored. */
export const accountWith = (email: string) => service.db.collection('_User').findOne({ email })
