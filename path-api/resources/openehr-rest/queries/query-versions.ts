import { Type } from '@sinclair/typebox'
import { ONLY_VERSION, type StoredQuery } from '../../../../openehr/aql/stored-queries.ts'
import { LAST_CODE_POINT } from '../../../../records/store/reading/filter.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import type { Context } from '../../../operation/context.ts'

export const queryNameParams = {
  name: Type.String({
    pattern: '^([A-Za-z0-9_.-]{1,80}::)?[A-Za-z0-9_.-]{1,80}$',
    description: 'Qualified name of the query: `[namespace::]name`',
    examples: ['org.openehr::high_pressures'],
  }),
}

/** Without leading zeros, with which a version would have two names. */
const NUMBER = '(0|[1-9]\\d{0,8})'

export const queryVersionParams = {
  ...queryNameParams,
  version: Type.String({
    pattern: `^${NUMBER}(\\.${NUMBER}){0,2}$`,
    description: 'Version, or its first numbers: then the latest one that begins with them',
    examples: ['1.0.0'],
  }),
}

/** The parameters of the storage of a version, which has all of its numbers. */
export const storedVersionParams = {
  ...queryNameParams,
  version: Type.String({
    pattern: `^${NUMBER}\\.${NUMBER}\\.${NUMBER}$`,
    description: 'Version: major, minor and patch',
    examples: ['1.0.0'],
  }),
}

/** A version of a stored query. */
export interface QueryVersion {
  name: string
  version: string
  query: StoredQuery
}

/** Our own operations know a version of a query by this name. */
export const storedNameOf = (name: string, version: string): string => `${name}/${version}`

const toQueryVersion = (query: StoredQuery): QueryVersion => {
  const [name = '', version = ONLY_VERSION] = query.name.split('/')
  return { name, version, query }
}

/** All versions of the queries whose names begin with a text, by name and version. */
export async function listQueryVersions(
  { caller, storedQueries }: Pick<Context<'user'>, 'caller' | 'storedQueries'>,
  start: string,
): Promise<QueryVersion[]> {
  const queryVersions: QueryVersion[] = []
  const names = { from: start, to: start + LAST_CODE_POINT }
  let cursor: string | undefined
  do {
    const page = await storedQueries.list(caller, { limit: 1000, cursor }, names)
    queryVersions.push(...page.items.map(toQueryVersion))
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return queryVersions.sort((a, b) => compareTexts(a.name, b.name) || compareVersions(a.version, b.version))
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

/** By major, minor and patch. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number)) as [number[], number[]]
  const index = left.findIndex((number, i) => number !== right[i])
  return index < 0 ? 0 : (left[index] ?? 0) - (right[index] ?? 0)
}

/** The latest version that begins with these numbers. @throws NotFound */
export async function findQueryVersion(
  context: Pick<Context<'user'>, 'caller' | 'storedQueries'>,
  name: string,
  version?: string,
): Promise<QueryVersion> {
  const isWanted = (one: QueryVersion): boolean =>
    one.name === name && (version === undefined || `${one.version}.`.startsWith(`${version}.`))
  const latestMatch = (await listQueryVersions(context, name)).filter(isWanted).at(-1)
  if (!latestMatch) throw new ServiceError('NotFound', { detail: 'No such query is stored.' })
  return latestMatch
}

/** The version after the latest one. */
export function nextVersion(latest: string | undefined): string {
  if (latest === undefined) return ONLY_VERSION
  const [major = 1, minor = 0, patch = 0] = latest.split('.').map(Number)
  return `${major}.${minor}.${patch + 1}`
}
