import { type InputFault, ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'

type Place = 'path' | 'query' | 'header' | 'body' | 'request'

/** A violation as a whole sentence, and with the part of the request in front of its path. */
export const placedIn =
  (place: Place) =>
  ({ path, message, ...violation }: Violation): Violation => ({
    ...violation,
    path: path === '' ? place : `${place}.${path}`,
    message: `${path === '' ? `The ${place}` : path} ${message}.`,
  })

/** A refusal with violations that are placed in the request. */
export class Placed extends ServiceError {
  constructor(
    error: InputFault,
    violations: readonly Violation[],
    about: { detail?: string; cause?: unknown } = {},
  ) {
    super(error, { ...about, violations })
  }
}

/** Input that does not fit the operation. */
export class InvalidInput extends Placed {
  constructor(violations: readonly Violation[]) {
    super('InvalidInput', violations)
  }
}

/** What cannot be read, with what would be right: `must be JSON in UTF-8`. */
export const malformed = (place: Place, path: string, code: string, message: string): Placed =>
  new Placed('MalformedRequest', [placedIn(place)({ path, code, message })])
