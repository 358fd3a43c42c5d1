import {
  type Client,
  createClient,
  createMemoryStore,
  isProblem,
  Problem,
  type Tokens,
} from 'health-record-client'
import { useSyncExternalStore } from 'react'
import { forgetDrafts } from '../browser/drafts.ts'
import { currentRoute, navigateFor, personIdInUrl, serviceUrl } from '../browser/router.tsx'
import { nameHere } from '../browser/storage.ts'
import { createHelperClient } from './helper-client.ts'
import { findEntry } from './list-pages.ts'
import {
  isLogOutPending,
  markLoggedIn,
  markLogOut,
  markOtherUser,
  mayBeLoggedIn,
  takeOtherUserMark,
  unmarkLoggedIn,
  unmarkLogOut,
} from './session-mark.ts'

/** A person for whom the user acts as a helper. */
export interface HelpedPerson {
  mvUid: string
  name: string
  acts: readonly HelperAct[]
}

/**
 * `helpedPerson`: the pages show this person's record. `ended`: they did until a moment ago. `isRefused`: the URL named
 * somebody for whom the user may not act. `isOther`: the page showed another user until a moment ago.
 */
export type Session =
  | { status: 'starting' }
  | {
      status: 'in'
      mvUid: string
      helpedPerson?: HelpedPerson
      ended?: HelpedPerson
      isRefused?: boolean
      isOther?: boolean
    }
  /**
   * `ended`: the service ended the session, so that drafts remain. `isExpired`: it had ended before the page was opened.
   * `isPending`: the service has not heard of the log-out yet.
   */
  | { status: 'out'; ended: boolean; isExpired?: boolean; isPending?: boolean }
  /** There may be a session, and the service does not answer. */
  | { status: 'failed'; problem: Problem }

export type HelperAct = 'READ' | 'RECORD' | 'MESSAGES' | 'PLAN'

let current: Session = { status: 'starting' }
const listeners = new Set<() => void>()
/** Log-out in one tab ends all, and a login of another user is that of all: they share one cookie. */
const tabs = new BroadcastChannel(nameHere('session'))
const OUT = 'out'

/** The user whom this page serves. */
let servedUser: string | undefined
let isLoggingIn = false

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
    if (next) return keep(next)
    memory.save(undefined)
    if (current.status !== 'out') change({ status: 'out', ended: current.status === 'in' })
  },
}

/** @throws Problem when a request that outlives its session would begin another one */
function keep(next: Tokens): void | Promise<void> {
  if (current.status === 'out' && !isLoggingIn)
    throw new Problem({ status: 401, code: 'unauthorized', title: '', errors: [] })
  const mvUid = userOf(next.authToken)
  servedUser ??= mvUid
  // The cookie of the former session is gone.
  if (isLoggingIn) unmarkLogOut()
  if (mvUid !== servedUser) return startAnew()
  if (isLoggingIn && personIdInUrl() !== undefined) return reload()
  memory.save(next)
  if (current.status === 'in') return
  tabs.postMessage(mvUid)
  change({ status: 'in', mvUid, isOther: takeOtherUserMark() })
}

/** The browser has another user now. Requests of the former one end with the page, before they are sent again. */
function startAnew(): Promise<void> {
  if (current.status === 'in') markOtherUser()
  return reload()
}

/** The restored session finds out about the person of the URL. */
function reload(): Promise<void> {
  location.reload()
  return new Promise(() => {})
}

/** Sends the requests of the user, also while they act for somebody. */
export const ownApi = createClient({ url: serviceUrl, tokens, refreshByCookie: true })

/** Sends the requests of the pages: of the user, or of the user for somebody. */
export let api: Client
api = ownApi

/** Sends requests of the user for this person, whichever record the pages show. */
export const clientFor = (mvUid: string, helpedPerson: HelpedPerson | undefined): Client =>
  helpedPerson ? createHelperClient({ ownApi, mvUid, personId: helpedPerson.mvUid }) : ownApi

/** Shows the record of somebody whom the user helps, at the page of the URL. */
export function startHelping(helpedPerson: HelpedPerson): void {
  if (current.status !== 'in') return
  const { mvUid } = current
  api = createHelperClient({ ownApi, mvUid, personId: helpedPerson.mvUid, onEnd: () => stopHelping(true) })
  change({ status: 'in', mvUid, helpedPerson })
}

/** The agreement of the user with the person whom the URL names. */
async function findPersonInUrl(mvUid: string): Promise<HelpedPerson | undefined> {
  const personId = personIdInUrl()
  if (personId === undefined || personId === mvUid) return undefined
  const path = { mvUid }
  const agreement = await findEntry(
    (query) => ownApi.GET('/profile/{mvUid}/helping', { params: { path, query } }),
    (one) => one.mvUid === personId && one.state === 'ACTIVE',
  )
  return agreement && { mvUid: personId, name: agreement.name ?? '', acts: agreement.acts }
}

/** Shows the user's own record. The URL of somebody else leads home, and the page says why. */
function showOwn(mvUid: string): void {
  const personId = personIdInUrl()
  const isRefused = personId !== undefined && personId !== mvUid
  navigateFor(undefined, isRefused ? '/' : currentRoute(), { replace: true })
  if (isRefused && current.status === 'in') change({ ...current, isRefused })
}

// Back and forward, too, show the record of the person in the URL.
window.addEventListener(
  'popstate',
  () => {
    const personId = personIdInUrl()
    if (current.status !== 'in' || personId === current.helpedPerson?.mvUid) return
    if (personId === undefined) return stopHelping()
    change({ status: 'starting' })
    reload()
  },
  { capture: true },
)

/** The person has changed what the user may do for them. The token stays the same. */
export function changeHelperActs(acts: readonly HelperAct[]): void {
  if (current.status !== 'in' || !current.helpedPerson) return
  change({ ...current, helpedPerson: { ...current.helpedPerson, acts } })
}

/** @param isEnded the agreement has ended, or the person's account */
export function stopHelping(isEnded = false): void {
  if (current.status !== 'in' || !current.helpedPerson) return
  api = ownApi
  navigateFor(undefined, currentRoute(), { replace: true })
  change({ status: 'in', mvUid: current.mvUid, ...(isEnded && { ended: current.helpedPerson }) })
}

const RETRY_INTERVAL_MS = 10_000
let retry: ReturnType<typeof setTimeout> | undefined

function restoreLater(): void {
  clearTimeout(retry)
  retry = setTimeout(restoreSession, RETRY_INTERVAL_MS)
}

/** Whether the service may answer otherwise in a moment. */
const isPassing = (error: unknown): error is Problem =>
  isProblem(error) && (error.status === 0 || error.status === 429 || error.status >= 500)

/** Continues the session of the cookie, if there may be one. Ends it first if the user has logged out. */
export async function restoreSession(): Promise<void> {
  if (isLogOutPending()) {
    await endOnService()
    return endHere()
  }
  if (!mayBeLoggedIn()) return change({ status: 'out', ended: false })
  try {
    const { data } = await ownApi.POST('/auth/login/token', { body: {} })
    const mvUid = userOf(data.authToken)
    memory.save(data)
    const helpedPerson = await findPersonInUrl(mvUid)
    tokens.save(data)
    if (helpedPerson) startHelping(helpedPerson)
    else showOwn(mvUid)
  } catch (error) {
    if (isPassing(error)) {
      change({ status: 'failed', problem: error })
      return restoreLater()
    }
    const isExpired = isProblem(error) && error.status === 401
    if (isExpired) unmarkLoggedIn()
    change({ status: 'out', ended: false, isExpired })
  }
}

/** @throws Problem */
export async function logIn(email: string, password: string): Promise<void> {
  clearTimeout(retry)
  if (isLogOutPending()) await endOnService()
  markLoggedIn()
  isLoggingIn = true
  try {
    await ownApi.logIn({ email, password, refreshCookie: true })
  } finally {
    isLoggingIn = false
  }
}

function endHere(): void {
  unmarkLoggedIn()
  forgetDrafts()
  memory.save(undefined)
  api = ownApi
  navigateFor(undefined, currentRoute(), { replace: true })
  const isPending = isLogOutPending()
  change({ status: 'out', ended: false, isPending })
  if (isPending) restoreLater()
}

/** Tokens that it renews begin no session. */
const logOutApi = createClient({ url: serviceUrl, tokens: memory, refreshByCookie: true })

/** Leaves the mark of the log-out if there is no answer. */
async function endOnService(): Promise<void> {
  markLogOut()
  try {
    await logOutApi.logOut()
  } catch (error) {
    if (!isProblem(error) || error.status !== 401) return
  }
  unmarkLogOut()
}

/** Ends the session on the service, in all tabs, and forgets what was typed. */
export async function logOut(): Promise<void> {
  await endOnService()
  tabs.postMessage(OUT)
  endHere()
}

tabs.onmessage = ({ data }) => {
  if (data === OUT) endHere()
  else if (current.status === 'in' && data !== servedUser) startAnew()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const currentSession = (): Session => current

export const useSession = (): Session => useSyncExternalStore(subscribe, currentSession)
