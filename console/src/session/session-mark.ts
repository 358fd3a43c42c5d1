/** Tells the next page that there may be a cookie with a refresh token. It is no secret. */
const MARK = 'logged-in'

export const mayBeLoggedIn = (): boolean => localStorage.getItem(MARK) !== null
export const markLoggedIn = (): void => localStorage.setItem(MARK, '1')
export const unmarkLoggedIn = (): void => localStorage.removeItem(MARK)
