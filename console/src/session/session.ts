import { createClient, createMemoryStore, isProblem, type Tokens } from 'health-record-client'
import { useSyncExternalStore } from 'react'
import { forgetDrafts } from '../browser/drafts.ts'
import { serviceUrl } from '../browser/router.tsx'

export type Session =
  | { status: 'starting' }
  | { status: 'in'; mvUid: string }
  /** `ended`: the service ended the session, so that drafts remain. */
  | { status: 'out'; ended: boolean }

/** Tells the next page that there may be a cookie with a refresh token. It is no secret. */
const MARK = 'logged-in'

let current: Session = { status: 'starting' }
const listeners = new Set<() => void>()
/** Log-out in one tab ends all. */
const tabs = new BroadcastChannel('session')

function change(session: Session): void {
  current = session
  for (const listener of listeners) listener()
}

const userOf = (token: string): string =>
  JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/'))).sub

/** The access token, which exists in memory only. */
const memory = createMemoryStore()
const tokens = {
  load: memory.load,
  save(next: Tokens | undefined) {
    memory.save(next)
    if (next && current.status === 'in') return
    if (next) change({ status: 'in', mvUid: userOf(next.authToken) })
    else if (current.status !== 'out') change({ status: 'out', ended: current.status === 'in' })
  },
}

export const api = createClient({ url: serviceUrl, tokens, refreshByCookie: true })

/** Continues the session of the cookie, if there may be one. */
export async function restoreSession(): Promise<void> {
  if (localStorage.getItem(MARK) === null) return change({ status: 'out', ended: false })
  try {
    const { data } = await api.POST('/auth/login/token', { body: {} })
    tokens.save(data)
  } catch (error) {
    if (isProblem(error) && error.status === 401) localStorage.removeItem(MARK)
    change({ status: 'out', ended: false })
  }
}

/** @throws Problem */
export async function logIn(email: string, password: string): Promise<void> {
  localStorage.setItem(MARK, '1')
  await api.logIn({ email, password, refreshCookie: true })
}

function endHere(): void {
  localStorage.removeItem(MARK)
  forgetDrafts()
  memory.save(undefined)
  change({ status: 'out', ended: false })
}

/** Ends the session on the service, in all tabs, and forgets what was typed. */
export async function logOut(): Promise<void> {
  await api.logOut().catch(() => {})
  tabs.postMessage('out')
  endHere()
}
tabs.onmessage = endHere

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useSession = (): Session => useSyncExternalStore(subscribe, () => current)
