import { useEffect, useState } from 'react'
import { currentPath } from './router.tsx'
import { tabStorage } from './storage.ts'

const PREFIX = 'draft:'

/** Drafts last as long as the tab: over a reload, an ended session and a new version. Log-out removes them. */
export function forgetDrafts(): void {
  for (const key of tabStorage.keys()) if (key.startsWith(PREFIX)) tabStorage.remove(key)
}

function readDraft<T>(key: string): T | undefined {
  const json = tabStorage.get(PREFIX + key)
  return json === null ? undefined : JSON.parse(json)
}

export interface TypedText {
  label: string
  text: string
}

/** What was typed on the page at this path. It outlasts the fields, which go with a record that may not be seen any more. */
const typedTexts = { path: '', byField: new Map<string, TypedText>() }

addEventListener('input', ({ target }) => {
  const isText = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement
  if (!isText || ['checkbox', 'radio', 'password'].includes(target.type)) return
  if (typedTexts.path !== currentPath()) typedTexts.byField.clear()
  typedTexts.path = currentPath()
  const label = target.labels?.[0]?.textContent ?? ''
  typedTexts.byField.set(`${label} ${target.name}`, { label, text: target.value })
})

/** The texts that were typed on this page and are not saved: they are in a draft. */
export function readTypedTexts(): TypedText[] {
  if (typedTexts.path !== currentPath()) return []
  const drafts = tabStorage.keys().filter((key) => key.startsWith(PREFIX))
  const isUnsaved = ({ text }: TypedText) =>
    text.trim() !== '' && drafts.some((key) => tabStorage.get(key)?.includes(JSON.stringify(text)))
  return [...typedTexts.byField.values()].filter(isUnsaved)
}

interface SentRequest<T> {
  text: string
  request: T
}

/**
 * The request for a content. Until its answer is there, the same content has the same request, with the same key, so that
 * it is stored once. This holds over a reload, as for drafts.
 * @param slot names the form
 */
export function requestOf<T>(slot: string, text: string, create: () => T): T {
  const last = readDraft<SentRequest<T>>(slot)
  if (last?.text === text) return last.request
  const request = create()
  keepRequest(slot, text, request)
  return request
}

export const keepRequest = (slot: string, text: string, request: unknown): void =>
  tabStorage.set(PREFIX + slot, JSON.stringify({ text, request }))

/** After an answer. */
export const forgetRequest = (slot: string): void => tabStorage.remove(PREFIX + slot)

interface OpenDraft<T> {
  key: string
  draft: T
  isKept: boolean
}

function openDraft<T extends object>(key: string, initial: () => T): OpenDraft<T> {
  const storedDraft = readDraft<T>(key)
  return { key, draft: { ...initial(), ...storedDraft }, isKept: storedDraft !== undefined }
}

/**
 * The state of a form, stored while it is typed.
 * @param key names the user, the form and the record that it is about; another user or record never shows it. If it
 * changes, the form shows the draft of the new key
 */
export function useDraft<T extends object>(key: string, initial: () => T) {
  const [last, setOpen] = useState(() => openDraft(key, initial))
  const open = last.key === key ? last : openDraft(key, initial)
  if (open !== last) setOpen(open)
  const { draft, isKept } = open
  useEffect(() => {
    if (isKept) tabStorage.set(PREFIX + key, JSON.stringify(draft))
    else tabStorage.remove(PREFIX + key)
  }, [key, draft, isKept])
  /** A form that now shows another draft leaves it as it is. */
  const update = (next: (before: OpenDraft<T>) => OpenDraft<T>) =>
    setOpen((now) => (now.key === key ? next(now) : now))
  return {
    draft,
    isKept,
    change(part: Partial<T>) {
      update((before) => ({ key, draft: { ...before.draft, ...part }, isKept: true }))
    },
    /**
     * After it was saved, or thrown away. What was typed meanwhile is kept.
     * @param continueFrom changes a draft that is kept
     */
    clear(continueFrom = (typed: T): T => typed) {
      // A page that leaves now runs no effect any more.
      if (tabStorage.get(PREFIX + key) === JSON.stringify(draft)) tabStorage.remove(PREFIX + key)
      update((before) =>
        before.draft === draft
          ? { key, draft: initial(), isKept: false }
          : { ...before, draft: continueFrom(before.draft) },
      )
    },
  }
}

/**
 * The draft of a form about a record that others may change, too: what was stored when the typing began (`base`), and what is
 * typed (`mine`). A form that nobody has touched shows what is stored now.
 * @param version of what is stored; the draft keeps the one with which it began
 */
export function useMergeDraft<T extends object, V extends object>(key: string, storedValues: T, version: V) {
  const fresh = () => ({ ...version, base: storedValues, mine: storedValues })
  const { draft, isKept, change, clear } = useDraft(key, fresh)
  const values = isKept ? draft : fresh()
  return {
    draft: values,
    clear: () => clear((typed) => ({ ...typed, base: values.mine })),
    edit: (part: Partial<T>) => change({ ...values, mine: { ...values.mine, ...part } }),
    /** Continues from the stored values. */
    merge: (mine: Partial<T>) => change({ ...fresh(), mine: { ...values.mine, ...mine } }),
  }
}
