import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { WORKLIST_KEY } from '../../model/queries.ts'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatMoment, personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'

const handoverHistoryQuery = (handoverId: string) =>
  queryOptions({
    queryKey: [...WORKLIST_KEY, 'handovers', handoverId],
    queryFn: () => {
      const path = { handoverId }
      return readAll((query) =>
        api.GET('/worklist/handover/{handoverId}/history', { params: { path, query } }),
      )
    },
  })

interface HandoverHistoryProps {
  mvUid: string
  id: string
  /** The other one, for those who hear the button alone. */
  about: string
}

/** The history of a handover: who began and ended it, and when. */
export function HandoverHistory({ mvUid, id, about }: HandoverHistoryProps) {
  const t = useText()
  const [isOpen, setOpen] = useState(false)
  const history = useQuery({ ...handoverHistoryQuery(id), enabled: isOpen })
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {t('history.title')} <span className="unseen">{about}</span>
      </summary>
      {isOpen && (
        <Loaded query={history} lines={1}>
          {(versions) => (
            <ol>
              {versions.map(({ version, at, action, userId, userName }) => (
                <li key={version}>
                  {t(`action.${action}`)}, {formatMoment(at)},{' '}
                  {userId === mvUid ? t('you') : personName(userName)}
                </li>
              ))}
            </ol>
          )}
        </Loaded>
      )}
    </details>
  )
}
