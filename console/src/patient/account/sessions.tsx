import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { READ_ON_RETURN } from '../../model/queries.ts'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatAge } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'

const sessionsQuery = (mvUid: string) =>
  queryOptions({
    queryKey: ['sessions', mvUid],
    queryFn: () => readAll((query) => api.GET('/auth/sessions', { params: { query } })),
    ...READ_ON_RETURN,
  })

interface Session {
  sid: string
  current: boolean
  device: string | null
  lastUsedAt: string
}

interface SessionRowProps {
  mvUid: string
  session: Session
}

/** That of this browser first, then the one that was used last. */
const inOrder = (sessions: readonly Session[]): Session[] =>
  sessions.toSorted(
    (a, b) => Number(b.current) - Number(a.current) || b.lastUsedAt.localeCompare(a.lastUsedAt),
  )

/** Browsers call themselves by long names: the program and the system are enough to recognise one. */
const deviceName = (device: string | null): string | undefined => {
  const [program] = /(Firefox|Edg|Chrome|Safari)(?=\/)/.exec(device ?? '') ?? []
  const [system] = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(device ?? '') ?? []
  return program && system ? `${program}, ${system}` : (device ?? undefined)
}

/** Where the person is logged in. */
export function Sessions({ mvUid }: { mvUid: string }) {
  const sessions = useQuery(sessionsQuery(mvUid))
  return (
    <Loaded query={sessions}>
      {(items) => (
        <ul className="rows">
          {inOrder(items).map((session) => (
            <SessionRow key={session.sid} mvUid={mvUid} session={session} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function SessionRow({ mvUid, session: { sid, current, device, lastUsedAt } }: SessionRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const name = deviceName(device) ?? t('account.unknownDevice')
  const ending = useSubmit(async () => {
    await api.DELETE('/auth/sessions/{sid}', { params: { path: { sid } } })
    await queries.invalidateQueries({ queryKey: ['sessions', mvUid] })
  })
  return (
    <li>
      <div className="grow">
        <strong>{name}</strong>
        <p className="help">
          {current ? t('account.thisSession') : t('account.used', { age: formatAge(lastUsedAt) })}
        </p>
        {ending.problem && <FailureNote error={ending.problem} />}
      </div>
      {!current && (
        <button type="button" onClick={ending.submit}>
          {t('account.endSession')} <span className="unseen">{name}</span>
        </button>
      )}
    </li>
  )
}
