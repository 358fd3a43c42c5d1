import type { Db } from 'mongodb'
import { usersOf } from '../../accounts/user/user.ts'
import { collections } from '../owner/collections.ts'

/** The language that a user has chosen, for the account or else in the profile. */
export async function languageOf(
  db: Db,
  whom: { _id: string } | { email: string },
): Promise<string | undefined> {
  const user = await usersOf(db).findOne(whom, { projection: { language: 1 } })
  if (!user || user.language) return user?.language
  const persons = db.collection<{ _id: string; language: string | null }>(collections.person)
  return (await persons.findOne({ _id: user._id }, { projection: { language: 1 } }))?.language ?? undefined
}
