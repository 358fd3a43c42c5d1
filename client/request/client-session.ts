import { createIdempotencyKey } from './idempotency-key.ts'
import { isProblem } from './problem.ts'

export interface Tokens {
  /** Access token, valid for minutes. */
  authToken: string
  /** Absent where the service keeps it in a cookie. */
  refreshToken?: string | undefined
}

/** Where the tokens are kept. Several processes or tabs may share one store. */
export interface TokenStore {
  load(): Tokens | undefined | Promise<Tokens | undefined>
  /** @param tokens undefined when the session has ended */
  save(tokens: Tokens | undefined): void | Promise<void>
}

export function createMemoryStore(tokens?: Tokens): TokenStore {
  return {
    load: () => tokens,
    save(next) {
      tokens = next
    },
  }
}

/** What a call is sent with. */
export interface Authorization {
  authToken: string | undefined
  /** Aborts when somebody logs in or out: what was begun before is then neither saved nor sent again. */
  login: AbortSignal
}

export interface Session {
  authorization(): Promise<Authorization>
  /** Replaces a refused access token, once for all calls that wait. @returns undefined if the session has ended */
  renew(refused: Authorization): Promise<Authorization | undefined>
  /** Begins the session of a login; with undefined, ends the session. */
  replace(tokens: Tokens | undefined): Promise<void>
}

/**
 * Asks the service for new tokens.
 * @param refreshToken undefined for that of the cookie
 * @param key Idempotency-Key
 */
export type Exchange = (refreshToken: string | undefined, key: string, signal: AbortSignal) => Promise<Tokens>

/** The user in an access token, if it can be read. */
function userOf(authToken: string | undefined): string | undefined {
  try {
    return JSON.parse(atob((authToken?.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/'))).sub
  } catch {
    return undefined
  }
}

/** False if another process or tab has logged in somebody else. */
function isSameUser(authToken: string | undefined, other: string | undefined): boolean {
  const users = [userOf(authToken), userOf(other)]
  return users.includes(undefined) || users[0] === users[1]
}

/** @param byCookie whether the service keeps the refresh token in a cookie */
export function createSession(store: TokenStore, exchange: Exchange, byCookie: boolean): Session {
  let login = new AbortController()
  let renewal: Promise<void> | undefined
  /** The renewal without an answer. The service takes a second one for theft, unless it has the same key. */
  let unanswered: { refreshToken: string | undefined; key: string } | undefined

  async function renewTokens({ signal }: AbortController): Promise<void> {
    const tokens = await store.load()
    const refreshToken = byCookie ? undefined : tokens?.refreshToken
    if (!byCookie && refreshToken === undefined) return
    const isRepeated = unanswered !== undefined && unanswered.refreshToken === refreshToken
    if (!isRepeated) unanswered = { refreshToken, key: createIdempotencyKey() }
    const next = await exchange(refreshToken, unanswered?.key ?? '', signal).catch((error) => {
      if (!signal.aborted && !(isProblem(error) && error.status === 401)) throw error
    })
    const isReplaced = (await store.load())?.authToken !== tokens?.authToken
    if (signal.aborted) return
    unanswered = undefined
    // Another process or tab was faster.
    if (isReplaced) return
    await store.save(next && isSameUser(tokens?.authToken, next.authToken) ? next : undefined)
    // The token of a late answer may have expired.
    if (next && isRepeated) await renewTokens(login)
  }

  const authorization = async (): Promise<Authorization> => {
    const { signal } = login
    return { authToken: (await store.load())?.authToken, login: signal }
  }

  return {
    authorization,
    async renew(refused) {
      const current = await authorization()
      if (refused.login.aborted) return undefined
      if (current.authToken === refused.authToken) {
        const running = renewal ?? renewTokens(login)
        renewal = running
        await running.finally(() => {
          if (renewal === running) renewal = undefined
        })
      }
      const next = await authorization()
      const isRenewed = next.authToken !== undefined && next.authToken !== refused.authToken
      const goesOn = !refused.login.aborted && isSameUser(next.authToken, refused.authToken)
      return isRenewed && goesOn ? next : undefined
    },
    async replace(tokens) {
      login.abort()
      login = new AbortController()
      renewal = undefined
      unanswered = undefined
      await store.save(tokens)
    },
  }
}
