import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { pageOf } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatMoment, personName } from '../../texts/format.ts'
import { type TextId, translate, translateName, useText } from '../../texts/translate.ts'
import { LoadedList } from '../../ui/loaded.tsx'
import { PageButtons, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { Table } from '../../ui/table/table.tsx'

type AccessEntry = components['schemas']['AccessEntry']

const accessesQuery = (ehrId: string, cursor: string | undefined) =>
  queryOptions({
    queryKey: ['accesses', ehrId, cursor],
    queryFn: async () => {
      const query = { others: true, ...pageOf(50, cursor) }
      return (await api.GET('/ehr/{ehrId}/audit', { params: { path: { ehrId }, query } })).data
    },
    placeholderData: keepPreviousData,
  })

/** The accesses of others, newest first, page by page. */
export function AccessLog({ ehrId }: { ehrId: string }) {
  const t = useText()
  const pages = useTurnedPages<string>()
  const accesses = useQuery(accessesQuery(ehrId, pages.position))
  return (
    <LoadedList query={accesses}>
      {({ items, page }) => (
        <>
          {items.length === 0 ? <p>{t('access.noLog')}</p> : <AccessTable items={items} />}
          <PageButtons pages={pages} next={page.next} />
        </>
      )}
    </LoadedList>
  )
}

const HEADS: readonly TextId[] = ['access.when', 'access.who', 'access.what']

/** The names of own types are readable; those with a dot belong to the program. */
const accessedKind = (type: string): string =>
  translateName(`kind.${type.toLowerCase()}`, type.includes('.') ? translate('kind.custom') : type)

function AccessTable({ items }: { items: readonly AccessEntry[] }) {
  const t = useText()
  return (
    <Table
      heads={HEADS.map((head) => t(head))}
      nameColumn={1}
      rows={items.map(({ at, userName, onBehalfOf, action, type, outcome, requestId, ids }) => ({
        key: `${requestId} ${type} ${action} ${ids[0]}`,
        cells: [
          formatMoment(at),
          personName(userName) + (onBehalfOf === null ? '' : `, ${t('access.forYou')}`),
          `${t(`action.${action}`)}: ${accessedKind(type)}${outcome === 'done' ? '' : ` (${t('access.refused')})`}`,
        ],
      }))}
    />
  )
}
