import { type InputErrorName, ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'

type InputPlace = 'path' | 'query' | 'header' | 'body' | 'request'

/** Converts a violation to a sentence and prefixes its path with the part of the request. */
export const locateViolation =
  (place: InputPlace) =>
  ({ path, message, ...violation }: Violation): Violation => ({
    ...violation,
    path: path === '' ? place : `${place}.${path}`,
    message: `${path === '' ? `The ${place}` : path} ${message}.`,
  })

/** An error whose violations are located in the request. */
export class InputError extends ServiceError {
  constructor(
    error: InputErrorName,
    violations: readonly Violation[],
    options: { detail?: string; cause?: unknown } = {},
  ) {
    super(error, { ...options, violations })
  }
}

export class InvalidInput extends InputError {
  constructor(violations: readonly Violation[]) {
    super('InvalidInput', violations)
  }
}

/** Unreadable input, with the expected form: `must be JSON in UTF-8`. */
export const malformedInput = (place: InputPlace, path: string, code: string, message: string): InputError =>
  new InputError('MalformedRequest', [locateViolation(place)({ path, code, message })])
