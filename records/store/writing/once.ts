import { ServiceError } from '../../../schemas/errors.ts'

/** Gives what an earlier attempt of the same request has made, when `create` finds its id taken. */
export async function unlessMade<T>(create: () => Promise<T>, find: () => Promise<T>): Promise<T> {
  try {
    return await create()
  } catch (error) {
    if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
    return find().catch(() => {
      throw error
    })
  }
}
