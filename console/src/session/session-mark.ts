import { browserStorage, tabStorage } from '../browser/storage.ts'

/** Says that there may be a cookie with a refresh token, for the next page. It is not a secret. */
const MARK = 'logged-in'

export const mayBeLoggedIn = (): boolean => browserStorage.get(MARK) !== null
export const markLoggedIn = (): void => browserStorage.set(MARK, '1')
export const unmarkLoggedIn = (): void => browserStorage.remove(MARK)

/** The user has logged out, and the service has not ended the session yet. No page may continue it. */
const LOG_OUT = 'log-out'

export const isLogOutPending = (): boolean => browserStorage.get(LOG_OUT) !== null
export const markLogOut = (): void => browserStorage.set(LOG_OUT, '1')
export const unmarkLogOut = (): void => browserStorage.remove(LOG_OUT)

/** Another user has logged in, whom the page serves from now on. It says so once. */
const OTHER_USER = 'other-user'

export const markOtherUser = (): void => tabStorage.set(OTHER_USER, '1')

export function takeOtherUserMark(): boolean {
  const isMarked = tabStorage.get(OTHER_USER) !== null
  tabStorage.remove(OTHER_USER)
  return isMarked
}
