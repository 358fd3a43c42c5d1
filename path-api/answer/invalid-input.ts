import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'

type Place = 'path' | 'query' | 'body'

/** A violation as a whole sentence, and with the part of the request in front of its path. */
export const placedIn =
  (place: Place) =>
  ({ path, message, ...violation }: Violation): Violation => ({
    ...violation,
    path: path === '' ? place : `${place}.${path}`,
    message: `${path === '' ? `The ${place}` : path} ${message}.`,
  })

/** More violations than this help nobody. */
const MOST = 100

/** Input that does not fit the operation, with violations that are placed in the request. */
export class InvalidInput extends ServiceError {
  constructor(violations: readonly Violation[]) {
    super('InvalidInput', { violations: violations.slice(0, MOST) })
  }
}
