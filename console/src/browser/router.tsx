import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from 'react'
import { base } from './storage.ts'

/** URL of the service: the console lies directly below it. */
export const serviceUrl = new URL(/* @vite-ignore */ '../..', import.meta.url).href.replace(/\/$/, '')

const listeners = new Set<() => void>()
let focusAtNavigation: Element | null = null
const notify = () => {
  focusAtNavigation = document.activeElement
  for (const listener of listeners) listener()
}
window.addEventListener('popstate', notify)

/** Whether the user has gone to a control since the URL changed. A page that loads late leaves the focus there. */
export function hasFocusMoved(): boolean {
  const { activeElement, body } = document
  return activeElement !== body && activeElement !== focusAtNavigation
}

/** Begins the URLs of pages about somebody whom the user helps, so that others of these pages are the user's own. */
const PERSON = /^\/for\/([\w-]+)(?=\/|$)/
const pathOfPerson = (id: string | undefined): string => (id === undefined ? '' : `/for/${id}`)
const pathInConsole = () => location.pathname.slice(base.length)

/** The person whom the URL names; undefined: the user. */
export const personIdInUrl = (): string | undefined => PERSON.exec(pathInConsole())?.[1]

/** The path of the current page, such as `/measure`. */
export const currentPath = (): string => pathInConsole().replace(PERSON, '') || '/'
export const currentRoute = (): string => currentPath() + location.search

/** Goes to a path of the console, such as `/measure?kind=bloodpressure`, about the same person. */
export const navigate = (to: string, options?: { replace?: boolean }): void =>
  navigateFor(personIdInUrl(), to, options)

/** Goes to a path about a person; undefined: the user. */
export function navigateFor(personId: string | undefined, to: string, { replace = false } = {}): void {
  const path = pathOfPerson(personId)
  if (path + to === pathOfPerson(personIdInUrl()) + currentRoute()) return
  history[replace ? 'replaceState' : 'pushState'](null, '', base + path + to)
  notify()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export interface Route {
  path: string
  query: URLSearchParams
}

/** The current URL; filters of lists are in its query, so that they can be shared. */
export function useRoute(): Route {
  const route = useSyncExternalStore(subscribe, currentRoute)
  const [path = '/', query] = route.split('?')
  return { path, query: new URLSearchParams(query) }
}

/** The current path. A change of the query does not render the component again. */
export const usePath = (): string => useSyncExternalStore(subscribe, currentPath)

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/**
 * The values of `/plan/:planId` in a path; undefined if the path does not match, or cannot be decoded. `:record*` takes the rest of the path,
 * without decoding it.
 */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const names = [...pattern.matchAll(/:(\w+)(\*?)/g)]
  const segments = pattern.replace(/:\w+\*/g, '(.+)').replace(/:\w+/g, '([^/]+)')
  const match = new RegExp(`^${segments}/?$`).exec(path)
  if (!match) return undefined
  const values: Record<string, string> = {}
  for (const [i, [, name = '', isRest]] of names.entries()) {
    const value = isRest ? match[i + 1] : decode(match[i + 1] ?? '')
    if (value === undefined) return undefined
    values[name] = value
  }
  return values
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  to: string
}

export function Link({ to, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    navigate(to)
    window.scrollTo(0, 0)
  }
  return <a {...rest} href={base + pathOfPerson(personIdInUrl()) + to} onClick={follow} />
}
