import type { TSchema } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'

/** Option whose name is not that of its property in kebab-case. */
const OPTION_BY_PROPERTY: Readonly<Record<string, string>> = { systemId: 'system' }

const optionOf = (property: string): string =>
  `--${OPTION_BY_PROPERTY[property] ?? property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Sentences that name the options of a command line in place of the properties of a request. */
export const describeOptionFaults = (violations: readonly Violation[]): string =>
  violations
    .map(({ path, message }) => {
      const option = path
        .replace(/^\w+/, optionOf)
        .replace(/\.(\d+)$/, (_, position) => ` (value ${Number(position) + 1})`)
      return `${option} ${message.replace(/\b(systemId|jwksUri)\b/g, optionOf)}`
    })
    .join('\n')

/** Checks options by the schema of the same operation over HTTP. @throws Error with all violations */
export async function checkOptions(schema: TSchema, options: object): Promise<void> {
  const { createValidator } = await import('../../../schemas/validation/validators.ts')
  const violations = createValidator(schema)(options)
  if (violations.length > 0) throw new Error(describeOptionFaults(violations))
}

/** @throws Error that names the client id, when the work does not find it */
export async function requireClient<T>(client: 'app' | 'system', id: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ServiceError && error.error === 'NotFound')
      throw new Error(`There is no ${client} with the client id ${id}. See list-${client}s.`)
    throw error
  }
}
