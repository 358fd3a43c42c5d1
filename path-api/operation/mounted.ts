import type { Operation } from './operation.ts'

/** The same operations at each of several places, which differ in their paths and their operations' ids. */
export const mounted = <M>(mounts: readonly M[], ...operations: ((mount: M) => Operation)[]): Operation[] =>
  mounts.flatMap((mount) => operations.map((make) => make(mount)))
