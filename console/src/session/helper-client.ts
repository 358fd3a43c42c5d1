import { type Client, createClient, isProblem, type Tokens } from 'health-record-client'
import { serviceUrl } from '../browser/router.tsx'

/** A token lasts for minutes, and a new one is asked for before it ends. */
const RENEW_BEFORE_MS = 60_000

export interface Helping {
  /** The client of the user who helps. */
  ownApi: Client
  /** The user. */
  mvUid: string
  /** Whom they help. */
  personId: string
  /** Called when the agreement has ended, or the person's account. */
  onEnd?: () => void
}

/** The token with which the user acts for a person; it exists in memory only. */
function createHelperTokens({ ownApi, mvUid, personId, onEnd }: Helping) {
  let cachedToken: Promise<{ authToken: string; endsAt: number }> | undefined
  const ask = async () => {
    const params = { path: { mvUid, personId } }
    const { data } = await ownApi.POST('/profile/{mvUid}/helping/{personId}/act', { params })
    return { authToken: data.authToken, endsAt: Date.now() + data.expiresIn * 1000 - RENEW_BEFORE_MS }
  }
  return {
    async load(): Promise<Tokens> {
      if (!cachedToken || (await cachedToken).endsAt < Date.now()) cachedToken = ask()
      return cachedToken.catch((error: unknown) => {
        cachedToken = undefined
        if (isProblem(error) && error.status === 404) onEnd?.()
        throw error
      })
    },
    save() {},
  }
}

/** Sends the requests of a user for a person whom they help. */
export const createHelperClient = (helping: Helping): Client =>
  createClient({
    url: serviceUrl,
    tokens: createHelperTokens(helping),
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (response.status === 401) helping.onEnd?.()
      return response
    },
  })
