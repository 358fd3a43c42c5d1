import { useEffect, useState } from 'react'

const PREFIX = 'draft:'

/** Drafts last as long as the tab: over a reload, an ended session and a new version. Log-out removes them. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key)
}

function readDraft<T>(key: string): T | undefined {
  const stored = sessionStorage.getItem(PREFIX + key)
  return stored === null ? undefined : JSON.parse(stored)
}

/**
 * The state of a form, stored while it is typed.
 * @param key names the user and the form; another user never sees it
 */
export function useDraft<T extends object>(key: string, initial: () => T) {
  const [draft, setDraft] = useState<T>(() => ({ ...initial(), ...readDraft<T>(key) }))
  const [isKept, setKept] = useState(() => readDraft(key) !== undefined)
  useEffect(() => {
    if (isKept) sessionStorage.setItem(PREFIX + key, JSON.stringify(draft))
    else sessionStorage.removeItem(PREFIX + key)
  }, [key, draft, isKept])
  return {
    draft,
    isKept,
    change(part: Partial<T>) {
      setKept(true)
      setDraft((before) => ({ ...before, ...part }))
    },
    /** After it was saved, or thrown away. */
    clear() {
      // A page that leaves now runs no effect any more.
      sessionStorage.removeItem(PREFIX + key)
      setKept(false)
      setDraft(initial())
    },
  }
}
