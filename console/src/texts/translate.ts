import serviceNames from 'virtual:service-name'
import { type MessageDescriptor, setupI18n } from '@lingui/core'
import { useSyncExternalStore } from 'react'
import type english from './console.en.json'
import { importTexts, type Language, storeLanguage } from './language.ts'

export type TextId = keyof typeof english
type Values = NonNullable<MessageDescriptor['values']>

const i18n = setupI18n()
/** Shows the pages in a language. */
export async function loadTexts(language: Language): Promise<void> {
  i18n.loadAndActivate({ locale: language, messages: await importTexts(language) })
  document.documentElement.lang = language
}

export async function chooseLanguage(language: Language): Promise<void> {
  storeLanguage(language)
  await loadTexts(language)
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u

/** A name within a sentence. Otherwise a name that is written from right to left moves the numbers and names after it. */
export const isolate = (name: string): string => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name)

const isolateAll = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? isolate(value) : value]),
  )

export const translate = (id: TextId, values: Values = {}): string => i18n._(id, isolateAll(values))

/** A text whose id is only known at run time, such as the name of a kind; otherwise the fallback. */
export const translateName = (id: string, fallback: string, values: Values = {}): string =>
  i18n.messages[id] === undefined ? fallback : i18n._(id, isolateAll(values))

const subscribe = (listener: () => void) => i18n.on('change', listener)

export const currentLanguage = (): Language => i18n.locale as Language

export const serviceName = (): string => serviceNames[currentLanguage()]

/** The current language; a change of it renders the component again. */
export const useLanguage = (): Language => useSyncExternalStore(subscribe, currentLanguage)

export function useText(): typeof translate {
  useLanguage()
  return translate
}
