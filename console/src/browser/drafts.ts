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

/** How a draft is stored: whole, by default. */
interface DraftFormat<T> {
  /** JSON; undefined if there is nothing to store. */
  write(draft: T): string | undefined
  read(json: string): T
}

function openDraft<T extends object>(key: string, initial: () => T, { read }: DraftFormat<T>): OpenDraft<T> {
  const json = tabStorage.get(PREFIX + key)
  return { key, draft: { ...initial(), ...(json !== null && read(json)) }, isKept: json !== null }
}

/**
 * The state of a form, stored while it is typed.
 * @param key names the user, the form and the record that it is about; another user or record never shows it. If it
 * changes, the form shows the draft of the new key
 */
export function useDraft<T extends object>(
  key: string,
  initial: () => T,
  format: DraftFormat<T> = { write: JSON.stringify, read: JSON.parse },
) {
  const [last, setOpen] = useState(() => openDraft(key, initial, format))
  const open = last.key === key ? last : openDraft(key, initial, format)
  if (open !== last) setOpen(open)
  const { draft, isKept } = open
  const json = isKept ? format.write(draft) : undefined
  useEffect(() => {
    if (json === undefined) tabStorage.remove(PREFIX + key)
    else tabStorage.set(PREFIX + key, json)
  }, [key, json])
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
      if (json !== undefined && tabStorage.get(PREFIX + key) === json) tabStorage.remove(PREFIX + key)
      update((before) =>
        before.draft === draft
          ? { key, draft: initial(), isKept: false }
          : { ...before, draft: continueFrom(before.draft) },
      )
    },
  }
}

/** What was stored when the typing began, and what is typed. A base without a field does not know its value. */
interface MergeDraft<T> {
  base: Partial<T>
  mine: T
}

/** Of a draft, only what the user changed is stored, so that no other part of the record stays in the browser. */
interface StoredChanges<T> {
  changes: Partial<T>
  /** Shows whether the record is still the one with which the typing began. */
  baseHash: number
}

/** FNV-1a. */
function hashOf(values: object): number {
  let hash = 0x811c9dc5
  for (const unit of JSON.stringify(values)) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}

/** The fields whose values differ from the other ones. */
const differingFields = <T extends object>(values: Partial<T>, otherValues: Partial<T>): Partial<T> =>
  Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== otherValues[name as keyof T]),
  ) as Partial<T>

/** Changes are stored without the values that they replace. If others changed the record meanwhile, these are unknown. */
const changesFormat = <T extends object, V extends object>(
  storedValues: T,
): DraftFormat<V & MergeDraft<T>> => ({
  write({ base, mine, ...version }) {
    const changes = differingFields<T>(mine, base)
    const stored = { ...version, changes, baseHash: hashOf(base) }
    return Object.keys(changes).length === 0 ? undefined : JSON.stringify(stored)
  },
  read(json) {
    const { changes, baseHash, ...version } = JSON.parse(json) as V & StoredChanges<T>
    const base: Partial<T> = { ...storedValues }
    if (baseHash !== hashOf(storedValues))
      for (const name of Object.keys(differingFields(changes, storedValues))) delete base[name as keyof T]
    return { ...version, base, mine: { ...storedValues, ...changes } } as V & MergeDraft<T>
  },
})

/**
 * The draft of a form about a record that others may change, too. A form that nobody has touched shows what is stored now.
 * @param version of what is stored; the draft keeps the one with which it began
 */
export function useMergeDraft<T extends object, V extends object>(key: string, storedValues: T, version: V) {
  const fresh = (): V & MergeDraft<T> => ({ ...version, base: storedValues, mine: storedValues })
  const { draft, isKept, change, clear } = useDraft(key, fresh, changesFormat<T, V>(storedValues))
  const values = isKept ? draft : fresh()
  const keep = (next: V & MergeDraft<T>) => change(next)
  return {
    draft: values,
    clear: () => clear((typed) => ({ ...typed, base: values.mine })),
    edit: (part: Partial<T>) => keep({ ...values, mine: { ...values.mine, ...part } }),
    /** Continues from the stored values. */
    merge: (mine: Partial<T>) => keep({ ...fresh(), mine: { ...values.mine, ...mine } }),
  }
}
