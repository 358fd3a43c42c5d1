import { browserStorage } from '../browser/storage.ts'

/** Tells the next page that there may be a cookie with a refresh token. It is no secret. */
const MARK = 'logged-in'

export const mayBeLoggedIn = (): boolean => browserStorage.get(MARK) !== null
export const markLoggedIn = (): void => browserStorage.set(MARK, '1')
export const unmarkLoggedIn = (): void => browserStorage.remove(MARK)
