import { queryOptions } from '@tanstack/react-query'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

export const FAMILIES = ['data', 'event', 'device'] as const
export type Family = (typeof FAMILIES)[number]

export const familyOf = (text: string | null | undefined): Family =>
  FAMILIES.find((one) => one === text) ?? 'data'

interface Range {
  min?: number | null
  max?: number | null
}

/** The properties that all families of types share, and for which the form has a field. */
export interface TypeDefinition {
  type: string
  name: string
  description: string | null
  schema?: object | null
  unit?: string | null
  ranges?: { hard?: Range | null; warn?: Range | null } | null
  retired: boolean
  used: boolean
  version: number
  createdAt: string
  updatedAt: string
}

export const TYPES_KEY = ['types']

/** The families have the same operations; the compiler takes one as an example. */
const pathOf = (family: Family) => `/data/type/${family}` as '/data/type/data'

export const typesQuery = (family: Family) =>
  queryOptions({
    queryKey: [...TYPES_KEY, family],
    queryFn: async () =>
      (await readAll((query) =>
        api.GET(pathOf(family), { params: { query } }),
      )) as unknown as TypeDefinition[],
  })

/** A type with its version, which a change names. */
export const typeQuery = (family: Family, type: string) =>
  queryOptions({
    queryKey: [...TYPES_KEY, family, 'one', type],
    queryFn: async () => {
      const path = `${pathOf(family)}/{type}` as const
      const { data, response } = await api.GET(path, { params: { path: { type } } })
      return { definition: data as unknown as TypeDefinition, etag: response.headers.get('etag') ?? '' }
    },
  })

/** Adds a type, or makes a new version of it. @throws Problem */
export async function saveType(family: Family, body: object, etag: string): Promise<void> {
  if (etag === '') await api.POST(pathOf(family), { body: body as never })
  else {
    const { type } = body as { type: string }
    const params = { path: { type } }
    const headers = { 'if-match': etag }
    await api.PUT(`${pathOf(family)}/{type}`, { params, headers, body: body as never })
  }
}
