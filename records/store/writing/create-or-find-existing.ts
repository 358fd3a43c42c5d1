import { ServiceError } from '../../../schemas/errors.ts'

/** Creates a record. After a Conflict, returns the record that an earlier attempt of the request created. */
export async function createOrFindExisting<T>(create: () => Promise<T>, find: () => Promise<T>): Promise<T> {
  try {
    return await create()
  } catch (error) {
    if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
    return find().catch(() => {
      throw error
    })
  }
}
