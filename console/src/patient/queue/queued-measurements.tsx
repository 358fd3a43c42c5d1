import kinds from 'virtual:measurement-kinds'
import { useQueryClient } from '@tanstack/react-query'
import { useId } from 'react'
import { Link } from '../../browser/router.tsx'
import type { Me } from '../../model/me.ts'
import { formatMoment, kindName } from '../../texts/format.ts'
import { translateName, useText } from '../../texts/translate.ts'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { numbersText } from '../measurement/reading.ts'
import { type QueuedMeasurement, refreshQueue, removeFromQueue, useQueue } from './measurement-queue.ts'
import { correctionPath, isShownTo } from './refused-measurement.ts'

function useShown(me: Me): QueuedMeasurement[] {
  return (useQueue() ?? []).filter((queued) => isShownTo(me, queued))
}

/** The measurements that wait on this device, and those that the service refused. */
export function QueuedMeasurements({ me }: { me: Me }) {
  const t = useText()
  const id = useId()
  const shown = useShown(me)
  if (shown.length === 0) return null
  const isWaiting = shown.some(({ refusal }) => !refusal)
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{t(isWaiting ? 'queue.title' : 'queue.refusedTitle')}</h2>
      {isWaiting && <p className="help">{t('queue.help')}</p>}
      <ul className="rows">
        {shown.map((queued) => (
          <QueuedRow key={queued.key} me={me} queued={queued} />
        ))}
      </ul>
    </section>
  )
}

function QueuedRow({ me, queued }: { me: Me; queued: QueuedMeasurement }) {
  const t = useText()
  const queries = useQueryClient()
  const { kind, body, account } = queued
  const kindOf = kinds.find(({ path }) => path === kind)
  const about = `${kindOf ? numbersText(kindOf, body) : kindName(kind)}, ${formatMoment(body.timestamp)}`
  const person = queued.patient ?? queued.helped?.name
  return (
    <li>
      <div className="grow">
        <strong>{kindName(kind)}</strong>
        <p>{about}</p>
        {person && <p className="help">{t('queue.for', { name: person })}</p>}
        {queued.refusal && <Refusal me={me} queued={queued} code={queued.refusal.code} />}
      </div>
      <ConfirmButton
        label={t('queue.delete')}
        about={about}
        question={t('queue.deleteQuestion')}
        yes={t('queue.deleteYes')}
        onConfirm={async () => {
          await removeFromQueue(queued)
          await refreshQueue(queries, account)
        }}
      />
    </li>
  )
}

function Refusal({ me, queued, code }: { me: Me; queued: QueuedMeasurement; code: string }) {
  const t = useText()
  const path = correctionPath(me, queued)
  return (
    <p className="error">
      {t('queue.refused')} {translateName(`problem.${code}`, '')}{' '}
      {path ? (
        <Link to={path}>{t('queue.correct')}</Link>
      ) : (
        t('queue.actFirst', { name: queued.helped?.name })
      )}
    </p>
  )
}

/** Says on the other pages that the service refused something that waited. */
export function RefusalNote({ me }: { me: Me }) {
  const t = useText()
  const refused = useShown(me).filter(({ refusal }) => refusal)
  if (refused.length === 0) return null
  return (
    <p role="alert" className="note bad">
      {t('queue.refusedCount', { count: refused.length })} <Link to="/">{t('queue.show')}</Link>
    </p>
  )
}
