import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useState } from 'react'
import { api } from '../../session/session.ts'
import { formatMoment, personName } from '../../texts/format.ts'
import { type TextId, translateName, useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'

type AccessEntry = components['schemas']['AccessEntry']

const accessesQuery = (ehrId: string, cursor: string | undefined) =>
  queryOptions({
    queryKey: ['accesses', ehrId, cursor],
    queryFn: async () => {
      const query = { others: true, limit: 50, ...(cursor && { cursor }) }
      return (await api.GET('/ehr/{ehrId}/audit', { params: { path: { ehrId }, query } })).data
    },
    placeholderData: keepPreviousData,
  })

/** The accesses of others, newest first, page by page. */
export function AccessLog({ ehrId }: { ehrId: string }) {
  const t = useText()
  const [cursors, setCursors] = useState<string[]>([])
  const accesses = useQuery(accessesQuery(ehrId, cursors.at(-1)))
  return (
    <Loaded query={accesses}>
      {({ items, page }) => (
        <>
          {items.length === 0 ? <p>{t('access.noLog')}</p> : <AccessTable items={items} />}
          <div className="actions">
            {cursors.length > 0 && (
              <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                {t('newer')}
              </button>
            )}
            {page.next !== null && (
              <button type="button" onClick={() => setCursors([...cursors, page.next ?? ''])}>
                {t('older')}
              </button>
            )}
          </div>
        </>
      )}
    </Loaded>
  )
}

const HEADS: readonly TextId[] = ['access.when', 'access.who', 'access.what']

function AccessTable({ items }: { items: readonly AccessEntry[] }) {
  const t = useText()
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th key={head} scope="col">
                {t(head)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map(({ at, userName, action, type, outcome, requestId, ids }) => (
            <tr key={`${requestId} ${type} ${action} ${ids[0]}`}>
              <td>{formatMoment(at)}</td>
              <th scope="row">{personName(userName)}</th>
              <td>
                {t(`action.${action}`)}: {translateName(`kind.${type.toLowerCase()}`, type)}
                {outcome !== 'done' && ` (${t('access.refused')})`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
