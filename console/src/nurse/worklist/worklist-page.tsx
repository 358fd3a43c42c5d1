import { useQuery } from '@tanstack/react-query'
import { useRoute } from '../../browser/router.tsx'
import { useLiveWorklist } from '../../model/live.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { LoadedList } from '../../ui/loaded.tsx'
import { PageButtons, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { AlertForm } from '../alerts/alert-form.tsx'
import { useSelection } from '../alerts/selection.ts'
import { filterOf, worklistQuery } from '../alerts/worklist-query.ts'
import { HandOver } from './hand-over.tsx'
import { PatientEntry } from './patient-entry.tsx'
import { SavedViews } from './saved-views.tsx'
import { WorklistFilters } from './worklist-filters.tsx'

/** The patients who need action, the most urgent first. */
export default function WorklistPage({ me }: PageProps) {
  const t = useText()
  useLiveWorklist()
  const filter = filterOf(useRoute().query)
  return (
    <>
      <Heading title={t('worklist.title')} />
      <WorklistFilters filter={filter} />
      <SavedViews mvUid={me.mvUid} filter={filter} />
      <HandOver mvUid={me.mvUid} />
      <Entries key={JSON.stringify(filter)} mvUid={me.mvUid} filter={filter} />
    </>
  )
}

const BY_URGENCY = { back: 'worklist.before', next: 'worklist.after' } as const

interface EntriesProps {
  mvUid: string
  filter: ReturnType<typeof filterOf>
}

function Entries({ mvUid, filter }: EntriesProps) {
  const t = useText()
  const pages = useTurnedPages<string>()
  const worklist = useQuery(worklistQuery(filter, pages.position))
  const selection = useSelection(worklist.data?.items ?? [])
  return (
    <LoadedList query={worklist} lines={8}>
      {({ items, page }) => (
        <>
          {items.length === 0 && <p>{t('worklist.none')}</p>}
          <ul className="rows worklist" aria-label={t('worklist.title')}>
            {items.map((entry) => (
              <PatientEntry key={entry.ehrId} mvUid={mvUid} entry={entry} selection={selection} />
            ))}
          </ul>
          {selection.isPossible && <AlertForm mvUid={mvUid} selection={selection} />}
          <PageButtons pages={pages} next={page.next} labels={BY_URGENCY} />
        </>
      )}
    </LoadedList>
  )
}
