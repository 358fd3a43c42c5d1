import type { Operation } from './operation.ts'
import { health } from './resources/health.ts'
import { problems } from './resources/problems.ts'

/** Every operation of the path family: the router, the OpenAPI document and the contract tests are made from it. */
export const table: readonly Operation[] = [...health, ...problems]
