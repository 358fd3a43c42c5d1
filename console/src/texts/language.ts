import { browserStorage } from '../browser/storage.ts'

export type Language = 'en' | 'nl'

const STORED = 'language'

/** The language chosen on this device, otherwise the browser's. */
export function preferredLanguage(): Language {
  const languageTag = browserStorage.get(STORED) ?? navigator.languages.find((one) => /^(en|nl)\b/i.test(one))
  return languageTag?.toLowerCase().startsWith('nl') ? 'nl' : 'en'
}

/** Keeps the choice on this device, so that the login page has it, too. */
export const storeLanguage = (language: Language): void => browserStorage.set(STORED, language)

const catalogues = { en: () => import('./console.en.json'), nl: () => import('./console.nl.json') }

/** The texts of a language, compiled by the build. */
export const importTexts = async (language: Language) => (await catalogues[language]()).default
