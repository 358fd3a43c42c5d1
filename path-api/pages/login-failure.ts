import { ServiceError } from '../../schemas/errors.ts'

/** @throws errors that do not concern the address or the password */
export function toLoginFailure(error: unknown): undefined {
  if (error instanceof ServiceError && error.status < 500 && error.error !== 'TooManyRequests') return
  throw error
}
