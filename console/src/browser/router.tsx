import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from 'react'

/** Path of the console, such as `/console` or `/records/console`: the entry script lies in a folder below it. */
const base = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '')

/** Address of the service: the console lies directly below it. */
export const serviceUrl = new URL(/* @vite-ignore */ '../..', import.meta.url).href.replace(/\/$/, '')

const listeners = new Set<() => void>()
let focusAtNavigation: Element | null = null
const notify = () => {
  focusAtNavigation = document.activeElement
  for (const listener of listeners) listener()
}
window.addEventListener('popstate', notify)

/** Whether the user has gone to a control since the address changed. A page that loads late leaves the focus there. */
export function hasFocusMoved(): boolean {
  const { activeElement, body } = document
  return activeElement !== body && activeElement !== focusAtNavigation
}

/** The path of the current page, such as `/measure`. */
export const currentPath = (): string => location.pathname.slice(base.length) || '/'
const currentAddress = () => currentPath() + location.search

/** Goes to a path of the console, such as `/measure?kind=bloodpressure`. */
export function navigate(to: string, { replace = false } = {}): void {
  if (to === currentAddress()) return
  history[replace ? 'replaceState' : 'pushState'](null, '', base + to)
  notify()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export interface Address {
  path: string
  query: URLSearchParams
}

/** The current address; filters of lists are in its query, so that they can be shared. */
export function useAddress(): Address {
  const address = useSyncExternalStore(subscribe, currentAddress)
  const [path = '/', query] = address.split('?')
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
  const found = new RegExp(`^${segments}/?$`).exec(path)
  if (!found) return undefined
  const values: Record<string, string> = {}
  for (const [i, [, name = '', isRest]] of names.entries()) {
    const value = isRest ? found[i + 1] : decode(found[i + 1] ?? '')
    if (value === undefined) return undefined
    values[name] = value
  }
  return values
}

let linkSuffix = ''

/** Links that are opened in another tab show there whose record it is. */
export function setLinkSuffix(suffix: string): void {
  linkSuffix = suffix
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
  return <a {...rest} href={base + to + linkSuffix} onClick={follow} />
}
