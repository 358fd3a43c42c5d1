import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { memo, useDeferredValue, useMemo } from 'react'
import { Link } from '../../browser/router.tsx'
import { atPatient, type Me, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { pageOf } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { certaintyWord, isRetracted } from '../../texts/certainty.ts'
import { formatMoment, kindHeading } from '../../texts/format.ts'
import { type TextId, useText } from '../../texts/translate.ts'
import { LoadedList } from '../../ui/loaded.tsx'
import { PageButtons, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { Table } from '../../ui/table/table.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'
import { contentText } from '../history/field-texts.ts'
import { HistoryLink } from '../history/history-link.tsx'
import { pathWithHistory } from '../history/record-kinds.ts'

type TimelineEvent = components['schemas']['TimelineEvent']

const ENTRIES_PER_PAGE = 25

const timelineQuery = (ehrId: string, cursor: string | undefined) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'timeline', cursor ?? ''),
    queryFn: async () => {
      const query = pageOf(ENTRIES_PER_PAGE, cursor)
      return (await api.GET('/ehr/{ehrId}/summary/timeline', { params: { path: { ehrId }, query } })).data
    },
    placeholderData: keepPreviousData,
  })

/** Everything in the record, the newest first, page by page. */
export default function TimelinePage({ me: self, params }: PageProps) {
  const t = useText()
  const me = useMemo(() => atPatient(self, params), [self, params])
  const pages = useTurnedPages<string>()
  // React renders the entries in slices, between which the page answers.
  const timeline = useDeferredValue(useQuery(timelineQuery(me.ehrId, pages.position)))
  return (
    <>
      <RecordHeading me={me} title={t('timeline.title')} />
      {!me.isPatient && (
        <p>
          <Link to={`${recordPath(me)}/record`}>{t('back')}</Link>
        </p>
      )}
      <LoadedList query={timeline} lines={8}>
        {({ events, page }) => (
          <>
            {events.length === 0 ? <p>{t('record.none')}</p> : <EventTable me={me} events={events} />}
            <PageButtons pages={pages} next={page.next} />
          </>
        )}
      </LoadedList>
    </>
  )
}

const HEADS: readonly TextId[] = ['timeline.when', 'timeline.kind', 'timeline.what', 'history.title']

const EventTable = memo(function EventTable({ me, events }: { me: Me; events: readonly TimelineEvent[] }) {
  const t = useText()
  return (
    <Table
      heads={HEADS.map((head) => t(head))}
      nameColumn={1}
      endsWithLinks
      rows={events.map((event, at) => {
        const path = pathWithHistory(me.ehrId, event.history)
        const content = contentText(event, event.kind)
        return {
          // Rows that stay and change their texts take half the time of new ones.
          key: at,
          cells: [
            formatMoment(event.start),
            kindHeading(event.kind),
            isRetracted(event.summary) ? (
              <>
                <s>{content}</s> ({certaintyWord(event.summary)})
              </>
            ) : (
              content
            ),
            path && <HistoryLink me={me} path={path} name={content} />,
          ],
        }
      })}
    />
  )
})
