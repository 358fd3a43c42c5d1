import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useDraft } from '../../browser/drafts.ts'
import { WORKLIST_KEY } from '../../model/queries.ts'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatMoment, personName, toTypedTime } from '../../texts/format.ts'
import { isolate, useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { colleaguesQuery } from '../alerts/worklist-query.ts'
import { HandoverHistory } from './handover-history.tsx'

type Handover = components['schemas']['HandoverResource']
type Colleague = components['schemas']['Colleague']

const handoversQuery = queryOptions({
  queryKey: [...WORKLIST_KEY, 'handovers'],
  queryFn: () => readAll((query) => api.GET('/worklist/handover', { params: { query } })),
})

/** One that was ended before it began ends when it begins. */
const isOver = ({ from, until }: Handover): boolean =>
  Date.parse(until) <= Math.max(Date.now(), Date.parse(from))

/** Hands the list over to a colleague for a period, and shows what is handed over now or later. */
export function HandOver({ mvUid }: { mvUid: string }) {
  const t = useText()
  const handovers = useQuery(handoversQuery)
  const colleagues = useQuery(colleaguesQuery)
  return (
    <section className="panel" aria-labelledby="handover">
      <h2 id="handover">{t('handover.title')}</h2>
      <Loaded query={handovers} lines={1}>
        {(items) => <HandoverList mvUid={mvUid} items={items} />}
      </Loaded>
      <details>
        <summary>{t('handover.new')}</summary>
        <Loaded query={colleagues} lines={1}>
          {(items) =>
            items.length === 0 ? (
              <p>{t('handover.nobody')}</p>
            ) : (
              <HandOverForm mvUid={mvUid} colleagues={items} />
            )
          }
        </Loaded>
      </details>
    </section>
  )
}

/** The present, future and former handovers of the worklist. */
function HandoverList({ mvUid, items }: { mvUid: string; items: readonly Handover[] }) {
  const t = useText()
  const over = items.filter(isOver)
  const rowsOf = (some: readonly Handover[]) => (
    <ul className="rows">
      {some.map((one) => (
        <HandoverRow key={one.id} mvUid={mvUid} handover={one} />
      ))}
    </ul>
  )
  return (
    <>
      {rowsOf(items.filter((one) => !isOver(one)))}
      {over.length > 0 && (
        <details>
          <summary>{t('handover.over', { count: over.length })}</summary>
          {rowsOf(over)}
        </details>
      )}
    </>
  )
}

function HandoverRow({ mvUid, handover }: { mvUid: string; handover: Handover }) {
  const t = useText()
  const queries = useQueryClient()
  const { id, by, byName, toName, from, until, reason, version } = handover
  const isOwn = by === mvUid
  const who = personName(isOwn ? toName : byName)
  const ending = useSubmit(async () => {
    const headers = { 'if-match': `"${version}"` }
    await api.POST('/worklist/handover/{handoverId}/end', { params: { path: { handoverId: id } }, headers })
    await queries.invalidateQueries({ queryKey: WORKLIST_KEY })
  })
  return (
    <li>
      <div className="grow">
        <strong>{t(isOwn ? 'handover.given' : 'handover.received', { who })}</strong>
        <p className="help">
          {t('handover.period', { from: formatMoment(from), until: formatMoment(until) })}
          {reason && `. ${isolate(reason)}`}
        </p>
        {ending.problem && <FailureNote error={ending.problem} />}
        <HandoverHistory mvUid={mvUid} id={id} about={who} />
      </div>
      {!isOver(handover) && (
        <button type="button" aria-disabled={ending.isBusy} onClick={ending.submit}>
          {t('handover.end')} <span className="unseen">{who}</span>
        </button>
      )}
    </li>
  )
}

function HandOverForm({ mvUid, colleagues }: { mvUid: string; colleagues: readonly Colleague[] }) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid}:handover`, () => ({
    to: colleagues[0]?.mvUid ?? '',
    from: '',
    until: '',
    reason: '',
  }))
  const create = useCreation()
  const form = useSubmit(async () => {
    const body = {
      to: draft.to,
      until: toTypedTime(draft.until),
      ...(draft.from && { from: toTypedTime(draft.from) }),
      ...(draft.reason.trim() && { reason: draft.reason.trim() }),
    }
    await create(body, (request) => api.POST('/worklist/handover', request))
    clear()
    await queries.invalidateQueries({ queryKey: WORKLIST_KEY })
  })
  const colleague = colleagues.find(({ mvUid }) => mvUid === draft.to)
  const field = (name: 'from' | 'until' | 'reason') => ({
    ...form.field(name),
    value: draft[name],
    onChange: (value: string) => change({ [name]: value }),
  })
  return (
    <Form form={form} submit={t('handover.submit')} saved={t('form.added')}>
      <SelectField
        {...form.field('to')}
        label={t('handover.to')}
        help={colleague && t('handover.covers', { count: colleague.carePlans, all: colleague.ofCarePlans })}
        value={draft.to}
        options={colleagues.map(({ mvUid: value, name }) => ({ value, label: personName(name) }))}
        onChange={(to) => change({ to })}
      />
      <TextField
        {...field('from')}
        label={t('handover.from')}
        help={t('handover.fromHelp')}
        type="datetime-local"
        required={false}
      />
      <TextField {...field('until')} label={t('handover.until')} type="datetime-local" />
      <TextField {...field('reason')} label={t('handover.reason')} required={false} />
    </Form>
  )
}
