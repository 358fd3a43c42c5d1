import { queryOptions } from '@tanstack/react-query'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

type Values = Readonly<Record<string, unknown>>

interface Change {
  version: number
  at: string
  userId: string
  action: 'create' | 'update' | 'delete'
  changed: string[]
  before: Values | null
}

/** A property as it was before a change, and after it. */
interface Difference {
  name: string
  before: unknown
  after: unknown
}

export interface Version extends Omit<Change, 'before' | 'changed'> {
  differences: Difference[]
}

export interface HistoryPlace {
  ehrId: string
  kind: string
  recordId: string
}

const MAX_VERSIONS = 100

/** Properties that the service derives from others say nothing new. */
const DERIVED = ['version', 'lastUpdated', 'warnings', 'links']

/** All kinds of measurements have the same operations; the compiler takes one as an example. */
const recordAt = <P extends string>({ kind }: HistoryPlace, more: P) =>
  `/ehr/{ehrId}/procedure/${kind}/{compositionId}${more}` as `/ehr/{ehrId}/procedure/bodyweight/{compositionId}${P}`

const paramsOf = ({ ehrId, recordId: compositionId }: HistoryPlace) => ({ path: { ehrId, compositionId } })

/** The versions of a measurement, newest first, each with what it changed. */
export const historyQuery = (place: HistoryPlace) =>
  queryOptions({
    queryKey: ehrKey(place.ehrId, 'history', place.kind, place.recordId),
    queryFn: async () => {
      const params = paramsOf(place)
      const [record, history] = await Promise.all([
        api.GET(recordAt(place, ''), { params }),
        api.GET(recordAt(place, '/history'), { params: { ...params, query: { limit: MAX_VERSIONS } } }),
      ])
      const changes = history.data.items as unknown as Change[]
      return changes.map((change, at): Version => {
        const after = (at === 0 ? record.data : changes[at - 1]?.before) as Values | null
        const { before, changed, ...about } = change
        const names = before ? changed : []
        return {
          ...about,
          differences: names
            .filter((name) => !DERIVED.includes(name))
            .map((name) => ({ name, before: before?.[name], after: after?.[name] })),
        }
      })
    },
  })

/** Brings a former version back, unless somebody has changed the record since. @throws Problem */
export async function restoreVersion(place: HistoryPlace, version: number, current: number): Promise<void> {
  await api.POST(recordAt(place, '/restore'), {
    params: paramsOf(place),
    body: { version },
    headers: { 'if-match': `"${current}"` },
  })
}
