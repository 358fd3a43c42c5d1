import type { InterfaceLanguage } from '../code-lists.ts'

/** The name of the product, which people read. */
export const SERVICE_NAMES: Readonly<Record<InterfaceLanguage, string>> = {
  en: 'Health Record Service',
  nl: 'Gezondheidsdossier',
}

/** The name for programs and operators. */
export const SERVICE_NAME = SERVICE_NAMES.en
