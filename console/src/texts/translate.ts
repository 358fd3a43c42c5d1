import { type MessageDescriptor, setupI18n } from '@lingui/core'
import { useSyncExternalStore } from 'react'
import type english from './console.en.json'

export type Language = 'en' | 'nl'
export type TextId = keyof typeof english
type Values = NonNullable<MessageDescriptor['values']>

const i18n = setupI18n()
const STORED = 'language'

/** The language chosen on this device, otherwise the browser's. */
export function preferredLanguage(): Language {
  const chosen = localStorage.getItem(STORED) ?? navigator.languages.find((one) => /^(en|nl)\b/i.test(one))
  return chosen?.toLowerCase().startsWith('nl') ? 'nl' : 'en'
}

const catalogues = { en: () => import('./console.en.json'), nl: () => import('./console.nl.json') }

export async function loadTexts(language: Language): Promise<void> {
  const { default: messages } = await catalogues[language]()
  i18n.loadAndActivate({ locale: language, messages })
  document.documentElement.lang = language
}

/** Keeps the choice on this device, so that the login page has it, too. */
export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(STORED, language)
  await loadTexts(language)
}

export const translate = (id: TextId, values?: Values): string => i18n._(id, values)

/** A text whose id is only known at run time, such as the name of a kind; otherwise the fallback. */
export const translateName = (id: string, fallback: string): string =>
  i18n.messages[id] === undefined ? fallback : i18n._(id)

const subscribe = (listener: () => void) => i18n.on('change', listener)

/** The current language; a change of it renders the component again. */
export const useLanguage = (): Language => useSyncExternalStore(subscribe, () => i18n.locale as Language)

export function useText(): typeof translate {
  useLanguage()
  return translate
}
