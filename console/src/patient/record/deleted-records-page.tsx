import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { Link } from '../../browser/router.tsx'
import { atPatient, type Me, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { pageOf } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatMoment, kindName } from '../../texts/format.ts'
import { type TextId, useText } from '../../texts/translate.ts'
import { LoadedList } from '../../ui/loaded.tsx'
import { PageButtons, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { Table } from '../../ui/table/table.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'
import { authorText } from '../history/author-text.ts'
import { contentText } from '../history/field-texts.ts'
import { HistoryLink } from '../history/history-link.tsx'
import { namesIn } from '../history/history-query.ts'
import { findRecord, pathInEhr } from '../history/record-kinds.ts'

type DeletedRecord = components['schemas']['DeletedRecordResource']

const RECORDS_PER_PAGE = 50

const deletedQuery = (ehrId: string, cursor: string | undefined) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'deleted', cursor ?? ''),
    queryFn: async () => {
      const query = pageOf(RECORDS_PER_PAGE, cursor)
      return (await api.GET('/ehr/{ehrId}/deleted', { params: { path: { ehrId }, query } })).data
    },
    placeholderData: keepPreviousData,
  })

/** The deleted records, the last one first. Each can be restored from its history. */
export default function DeletedRecordsPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const pages = useTurnedPages<string>()
  const deletedRecords = useQuery(deletedQuery(me.ehrId, pages.position))
  return (
    <>
      <RecordHeading me={me} title={t('deletedRecords.title')} />
      <p>
        <Link to={`${recordPath(me)}/record`}>{t('back')}</Link>
      </p>
      <p>{t('deletedRecords.help')}</p>
      <LoadedList query={deletedRecords} lines={6}>
        {({ items, page }) => (
          <>
            {items.length > 0 && <DeletedTable me={me} items={items} />}
            {items.length === 0 && !pages.position && !page.next && <p>{t('deletedRecords.none')}</p>}
            <PageButtons pages={pages} next={page.next} />
          </>
        )}
      </LoadedList>
    </>
  )
}

const HEADS: readonly TextId[] = [
  'timeline.when',
  'access.who',
  'timeline.kind',
  'timeline.what',
  'history.title',
]

function DeletedTable({ me, items }: { me: Me; items: readonly DeletedRecord[] }) {
  const t = useText()
  const names = namesIn(items)
  return (
    <Table
      heads={HEADS.map((head) => t(head))}
      nameColumn={3}
      endsWithLinks
      rows={items.map((record) => {
        const { type, id, deletedAt, deletedParent, history } = record
        const path = pathInEhr(me.ehrId, history)
        const kind = findRecord(me.ehrId, path)?.kind.name ?? type
        const content = contentText(record, kind)
        return {
          key: `${type} ${id}`,
          cells: [
            formatMoment(deletedAt),
            authorText(me, names, record),
            kindName(kind),
            deletedParent
              ? t('deletedRecords.ofDeleted', { content, kind: kindName(deletedParent.type.toLowerCase()) })
              : content,
            <HistoryLink key="history" me={me} path={path} name={content} />,
          ],
        }
      })}
    />
  )
}
