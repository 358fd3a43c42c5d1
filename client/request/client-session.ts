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

export interface Session {
  /** The access token, if somebody is logged in. */
  authToken(): Promise<string | undefined>
  /** Replaces a refused access token, once for all calls that wait. @returns whether there is another one */
  renew(refusedToken: string | undefined): Promise<boolean>
  save(tokens: Tokens | undefined): Promise<void>
}

/**
 * @param exchange asks the service for new tokens; without a refresh token, by the cookie
 * @param byCookie whether the service keeps the refresh token in a cookie
 */
export function createSession(
  store: TokenStore,
  exchange: (refreshToken: string | undefined) => Promise<Tokens>,
  byCookie: boolean,
): Session {
  let renewal: Promise<boolean> | undefined
  const differs = (tokens: Tokens | undefined, refusedToken: string | undefined) =>
    tokens !== undefined && tokens.authToken !== refusedToken

  const renewOnce = async (refusedToken: string | undefined): Promise<boolean> => {
    const tokens = await store.load()
    if (differs(tokens, refusedToken)) return true
    if (!byCookie && tokens?.refreshToken === undefined) return false
    try {
      await store.save(await exchange(byCookie ? undefined : tokens?.refreshToken))
      return true
    } catch (error) {
      if (!isProblem(error) || error.status !== 401) throw error
      // Another process or tab may have been faster.
      if (differs(await store.load(), refusedToken)) return true
      await store.save(undefined)
      return false
    }
  }

  return {
    authToken: async () => (await store.load())?.authToken,
    renew(refusedToken) {
      renewal ??= renewOnce(refusedToken).finally(() => {
        renewal = undefined
      })
      return renewal
    },
    save: async (tokens) => store.save(tokens),
  }
}
