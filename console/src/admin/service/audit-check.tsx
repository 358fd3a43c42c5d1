import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { api } from '../../session/user-session.ts'
import { formatMoment, formatNumber } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'

type AuditVerification = components['schemas']['AuditVerification']

const VERIFICATION_POLL_MS = 1000

const verificationQuery = queryOptions({
  queryKey: ['audit verification'],
  queryFn: async () => (await api.GET('/audit/verification')).data,
  refetchInterval: ({ state }) => (state.data?.state === 'RUNNING' ? VERIFICATION_POLL_MS : false),
})

/** Starts a check of the audit, and shows its progress and its result. */
export function AuditCheck() {
  const t = useText()
  const queries = useQueryClient()
  const verification = useQuery(verificationQuery)
  const starting = useSubmit(async () => {
    const { data } = await api.POST('/audit/verification')
    queries.setQueryData(verificationQuery.queryKey, data)
  })
  const isRunning = verification.data?.state === 'RUNNING'
  return (
    <section className="panel" aria-labelledby="audit-check">
      <h2 id="audit-check">{t('audit.title')}</h2>
      <p>{t('audit.help')}</p>
      <Loaded query={verification} lines={2}>
        {(last) => <Result last={last} />}
      </Loaded>
      {starting.problem && <FailureNote error={starting.problem} />}
      <div className="actions">
        <button type="button" aria-disabled={starting.isBusy || isRunning} onClick={starting.submit}>
          {t('audit.start')}
        </button>
      </div>
    </section>
  )
}

function Result({ last }: { last: AuditVerification }) {
  const t = useText()
  const { state, entries, ofEntries, uncheckedEntries, fault, startedAt, finishedAt } = last
  const [checked, unchecked] = [entries, uncheckedEntries].map((count) => formatNumber(count))
  const at = formatMoment(finishedAt ?? startedAt ?? 0)
  return (
    <>
      <div role="status" className={state === 'BROKEN' ? 'note bad' : 'note'}>
        <p>{t(`audit.${state}`, { checked, unchecked, at })}</p>
        {fault && <p>{t('audit.fault', { ...fault })}</p>}
      </div>
      {state === 'RUNNING' && (
        <label>
          {t('audit.progress', { checked, all: formatNumber(ofEntries) })}
          <progress value={entries} max={Math.max(ofEntries, 1)} />
        </label>
      )}
    </>
  )
}
