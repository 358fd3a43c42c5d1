import { translateName } from './translate.ts'

/** Codes of records that state what is not true. */
const RETRACTED: readonly unknown[] = ['refuted', 'entered-in-error']

export const isRetracted = (code: unknown): boolean => RETRACTED.includes(code)

/** In words how sure a statement is; nothing where it is confirmed, or nobody has said. */
export const certaintyWord = (code: string | null | undefined): string | null =>
  !code || code === 'confirmed' ? null : translateName(`certainty.${code}`, code)
