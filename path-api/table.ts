import type { Operation } from './operation.ts'
import { account } from './resources/account.ts'
import { health } from './resources/health.ts'
import { login } from './resources/login.ts'
import { password } from './resources/password.ts'
import { problems } from './resources/problems.ts'
import { registration } from './resources/registration.ts'
import { session } from './resources/session.ts'

/** Every operation of the path family: the router, the OpenAPI document and the contract tests are made from it. */
export const table: readonly Operation[] = [
  ...health,
  ...problems,
  ...registration,
  ...password,
  ...login,
  ...session,
  ...account,
]
