import type { Records } from '../store/writing/transaction.ts'

export type TypeFamily = 'data' | 'event' | 'device'

/** A name that no class can have: the class family never reaches it. */
export const collectionOf = (family: TypeFamily): string => `types.${family}`

const keyOf = (family: TypeFamily, name: string): string => `${collectionOf(family)}/${name}`

/** It has changed. */
export const forgetType = ({ definitions }: Pick<Records, 'definitions'>, family: TypeFamily, name: string) =>
  definitions.delete(keyOf(family, name))
