import { type Client, createClient, createMemoryStore, isProblem, type Tokens } from 'health-record-client'
import { useSyncExternalStore } from 'react'
import { forgetDrafts } from '../browser/drafts.ts'
import { serviceUrl } from '../browser/router.tsx'
import { tabStorage } from '../browser/storage.ts'
import { createHelperClient } from './helper-client.ts'
import { markLoggedIn, mayBeLoggedIn, unmarkLoggedIn } from './session-mark.ts'

/** A person for whom the user acts as a helper. */
export interface HelpedPerson {
  mvUid: string
  name: string
  acts: readonly HelperAct[]
}

/** `helpedPerson`: the pages show this person's record. `ended`: they did until a moment ago. */
export type Session =
  | { status: 'starting' }
  | { status: 'in'; mvUid: string; helpedPerson?: HelpedPerson; ended?: HelpedPerson }
  /** `ended`: the service ended the session, so that drafts remain. */
  | { status: 'out'; ended: boolean }

export type HelperAct = 'READ' | 'RECORD' | 'MESSAGES' | 'PLAN'

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

/** Sends the requests of the user, also while they act for somebody. */
export const ownApi = createClient({ url: serviceUrl, tokens, refreshByCookie: true })

/** Sends the requests of the pages: of the user, or of the user for somebody. */
export let api: Client
api = ownApi

/** Names the person whose record this tab shows. */
const HELPING = 'helping'

/** Sends requests of the user for somebody, whoever's record the pages show. */
export const clientFor = (mvUid: string, helpedPerson: HelpedPerson | undefined): Client =>
  helpedPerson ? createHelperClient({ ownApi, mvUid, personId: helpedPerson.mvUid }) : ownApi

/** Shows the record of somebody whom the user helps. */
export function startHelping(helpedPerson: HelpedPerson): void {
  if (current.status !== 'in') return
  const { mvUid } = current
  api = createHelperClient({ ownApi, mvUid, personId: helpedPerson.mvUid, onEnd: () => stopHelping(true) })
  showHelped(mvUid, helpedPerson)
}

/** After the page was loaded again, it must not show another record than before. */
function resumeHelping(): void {
  const { by, helped } = JSON.parse(tabStorage.get(HELPING) ?? '{}')
  if (current.status === 'in' && current.mvUid === by) startHelping(helped)
}

/** The person has changed what the user may do for them. The token stays the same. */
export function changeHelperActs(acts: readonly HelperAct[]): void {
  if (current.status !== 'in' || !current.helpedPerson) return
  showHelped(current.mvUid, { ...current.helpedPerson, acts })
}

function showHelped(mvUid: string, helpedPerson: HelpedPerson): void {
  tabStorage.set(HELPING, JSON.stringify({ by: mvUid, helped: helpedPerson }))
  change({ status: 'in', mvUid, helpedPerson })
}

/** @param isEnded the agreement has ended, or the person's account */
export function stopHelping(isEnded = false): void {
  if (current.status !== 'in' || !current.helpedPerson) return
  api = ownApi
  tabStorage.remove(HELPING)
  change({ status: 'in', mvUid: current.mvUid, ...(isEnded && { ended: current.helpedPerson }) })
}

/** Continues the session of the cookie, if there may be one. */
export async function restoreSession(): Promise<void> {
  if (!mayBeLoggedIn()) return change({ status: 'out', ended: false })
  try {
    const { data } = await ownApi.POST('/auth/login/token', { body: {} })
    tokens.save(data)
    resumeHelping()
  } catch (error) {
    if (isProblem(error) && error.status === 401) unmarkLoggedIn()
    change({ status: 'out', ended: false })
  }
}

/** @throws Problem */
export async function logIn(email: string, password: string): Promise<void> {
  markLoggedIn()
  await ownApi.logIn({ email, password, refreshCookie: true })
}

function endHere(): void {
  unmarkLoggedIn()
  forgetDrafts()
  memory.save(undefined)
  tabStorage.remove(HELPING)
  api = ownApi
  change({ status: 'out', ended: false })
}

/** Ends the session on the service, in all tabs, and forgets what was typed. */
export async function logOut(): Promise<void> {
  await ownApi.logOut().catch(() => {})
  tabs.postMessage('out')
  endHere()
}
tabs.onmessage = endHere

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const currentSession = (): Session => current

export const useSession = (): Session => useSyncExternalStore(subscribe, currentSession)
