import type { Db } from 'mongodb'
import { usersOf } from '../../accounts/user/user.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'

/** The language that a user has chosen: the account's, otherwise the profile's. */
export async function findLanguage(
  db: Db,
  whom: { _id: string } | { email: string },
): Promise<string | undefined> {
  const user = await usersOf(db).findOne(whom, { projection: { language: 1 } })
  if (!user || user.language) return user?.language
  const persons = db.collection<{ _id: string; language: string | null }>(PROFILE_COLLECTIONS.person)
  return (await persons.findOne({ _id: user._id }, { projection: { language: 1 } }))?.language ?? undefined
}
