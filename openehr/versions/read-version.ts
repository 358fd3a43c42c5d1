import { versionUidOf } from '../../records/compositions/composition-record.ts'
import { ServiceError } from '../../schemas/errors.ts'

/** Selects a version by number or time; by default the latest. */
export interface VersionSelector {
  version?: number | undefined
  at?: string | undefined
}

/**
 * @param inPath the version in the path
 * @throws InvalidInput when the request names several versions
 */
export function requireOneVersion(inPath: number | undefined, { version, at }: VersionSelector): void {
  if (inPath !== undefined && inPath !== version)
    throw contradiction('version_uid', 'must be the version in the path, or must be left out')
  if (version !== undefined && at !== undefined)
    throw contradiction('version_at_time', 'must be left out when a version is named')
}

const contradiction = (path: string, message: string): ServiceError =>
  new ServiceError('InvalidInput', { violations: [{ path, code: 'exclusive', message }] })

/**
 * Reads a version of a record. A time selects the last version up to then, by binary search.
 * @param latest the latest version
 * @param findFormer finds an earlier version
 * @throws NotFound for an unknown version
 */
export async function readVersion<R extends { version: number; updatedAt: string }>(
  latest: R,
  { version, at }: VersionSelector,
  findFormer: (version: number) => Promise<R | undefined>,
): Promise<R> {
  const get = async (versionNumber: number): Promise<R> => {
    const requestedVersion = versionNumber === latest.version ? latest : await findFormer(versionNumber)
    if (!requestedVersion) throw new ServiceError('NotFound')
    return requestedVersion
  }
  if (at === undefined) return get(version ?? latest.version)
  const isLater = ({ updatedAt }: R) => Date.parse(updatedAt) > Date.parse(at)
  if (!isLater(latest)) return latest
  let match: R | undefined
  let first = 1
  let last = latest.version - 1
  while (first <= last) {
    const middle = Math.floor((first + last) / 2)
    const one = await get(middle)
    if (isLater(one)) last = middle - 1
    else [match, first] = [one, middle + 1]
  }
  if (!match) throw new ServiceError('NotFound')
  return match
}

/** Runs a change. The version number in its error becomes the version uid that clients know. */
export async function withVersionUid<T>(id: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    const isFailed = error instanceof ServiceError && error.error === 'PreconditionFailed'
    if (!isFailed || typeof error.version !== 'number') throw error
    throw new ServiceError('PreconditionFailed', {
      version: versionUidOf({ id, version: error.version }),
      cause: error,
    })
  }
}
