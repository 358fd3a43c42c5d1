import type { ActingHelper } from '../../schemas/accounts/helper.ts'

/** Parse creates the object of the user anew for each request. */
const helperByUser = new WeakMap<object, ActingHelper>()

/** Marks the user of a request as one for whom a helper acts. */
export const attachHelper = (user: object, helper: ActingHelper): void => void helperByUser.set(user, helper)

/** The helper who acts for the user of a request. */
export const helperFor = (user: object | undefined): ActingHelper | undefined =>
  user && helperByUser.get(user)
