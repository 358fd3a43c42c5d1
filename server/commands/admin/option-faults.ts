import type { TSchema } from '@sinclair/typebox'
import type { Violation } from '../../../schemas/validation/violations.ts'

/** Option whose name is not that of its property in kebab-case. */
const OPTION_BY_PROPERTY: Readonly<Record<string, string>> = { systemId: 'system' }

const optionOf = (property: string): string =>
  `--${OPTION_BY_PROPERTY[property] ?? property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Sentences that name the options of a command line in place of the properties of a request. */
export const describeOptionFaults = (violations: readonly Violation[]): string =>
  violations.map(({ path, message }) => `${path.replace(/^\w+/, optionOf)} ${message}`).join('\n')

/** Checks options by the schema of the same operation over HTTP. @throws Error with all violations */
export async function checkOptions(schema: TSchema, options: object): Promise<void> {
  const { createValidator } = await import('../../../schemas/validation/validators.ts')
  const violations = createValidator(schema)(options)
  if (violations.length > 0) throw new Error(describeOptionFaults(violations))
}
