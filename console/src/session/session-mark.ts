/** Tells the next page that there may be a cookie with a refresh token. It is no secret. */
const MARK = 'logged-in'

export const mayBeLoggedIn = (): boolean => localStorage.getItem(MARK) !== null
export const markLoggedIn = (): void => localStorage.setItem(MARK, '1')
export const unmarkLoggedIn = (): void => localStorage.removeItem(MARK)

/** The user has logged out, and the service has not ended the session yet. No page may continue it. */
const LOG_OUT = 'log-out'

export const isLogOutPending = (): boolean => localStorage.getItem(LOG_OUT) !== null
export const markLogOut = (): void => localStorage.setItem(LOG_OUT, '1')
export const unmarkLogOut = (): void => localStorage.removeItem(LOG_OUT)

/** Another user has logged in, whom the page serves from now on. It says so once. */
const OTHER_USER = 'other-user'

export const markOtherUser = (): void => sessionStorage.setItem(OTHER_USER, '1')

export function takeOtherUserMark(): boolean {
  const isMarked = sessionStorage.getItem(OTHER_USER) !== null
  sessionStorage.removeItem(OTHER_USER)
  return isMarked
}
