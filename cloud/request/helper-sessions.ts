import type { Acting } from '../../schemas/accounts/helper.ts'

/** Parse creates the object of the user anew for each request. */
const actingByUser = new WeakMap<object, Acting>()

/** Marks the user of a request as one for whom a helper acts. */
export const markHelped = (user: object, acting: Acting): void => void actingByUser.set(user, acting)

/** The helper who acts for the user of a request. */
export const actingFor = (user: object | undefined): Acting | undefined => user && actingByUser.get(user)
