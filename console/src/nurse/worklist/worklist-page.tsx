import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAddress } from '../../browser/router.tsx'
import { useLiveWorklist } from '../../model/live.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
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
  const filter = filterOf(useAddress().query)
  return (
    <>
      <Heading title={t('worklist.title')} />
      <WorklistFilters filter={filter} />
      <SavedViews filter={filter} />
      <HandOver mvUid={me.mvUid} />
      <Entries key={JSON.stringify(filter)} mvUid={me.mvUid} filter={filter} />
    </>
  )
}

interface EntriesProps {
  mvUid: string
  filter: ReturnType<typeof filterOf>
}

function Entries({ mvUid, filter }: EntriesProps) {
  const t = useText()
  const [cursors, setCursors] = useState<string[]>([])
  const worklist = useQuery(worklistQuery(filter, cursors.at(-1)))
  const selection = useSelection(worklist.data?.items ?? [])
  return (
    <Loaded query={worklist} lines={8}>
      {({ items, page }) => (
        <>
          {items.length === 0 && <p>{t('worklist.none')}</p>}
          <ul className="rows worklist" aria-label={t('worklist.title')}>
            {items.map((entry) => (
              <PatientEntry key={entry.ehrId} entry={entry} selection={selection} />
            ))}
          </ul>
          {items.length > 0 && <AlertForm mvUid={mvUid} selection={selection} />}
          <div className="actions">
            {cursors.length > 0 && (
              <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                {t('worklist.before')}
              </button>
            )}
            {page.next !== null && (
              <button type="button" onClick={() => setCursors([...cursors, page.next ?? ''])}>
                {t('worklist.after')}
              </button>
            )}
          </div>
        </>
      )}
    </Loaded>
  )
}
