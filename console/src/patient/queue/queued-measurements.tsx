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
  return (useQueue() ?? []).filter((measurement) => isShownTo(me, measurement))
}

/** The measurements that wait on this device, and those that the service refused. */
export function QueuedMeasurements({ me }: { me: Me }) {
  const t = useText()
  const id = useId()
  const measurements = useShown(me)
  if (measurements.length === 0) return null
  const isWaiting = measurements.some(({ refusal }) => !refusal)
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{t(isWaiting ? 'queue.title' : 'queue.refusedTitle')}</h2>
      {isWaiting && <p className="help">{t('queue.help')}</p>}
      <ul className="rows">
        {measurements.map((measurement) => (
          <QueuedRow key={measurement.key} me={me} measurement={measurement} />
        ))}
      </ul>
    </section>
  )
}

function QueuedRow({ me, measurement }: { me: Me; measurement: QueuedMeasurement }) {
  const t = useText()
  const queries = useQueryClient()
  const { kind, body, account } = measurement
  const kindOf = kinds.find(({ path }) => path === kind)
  const summary = `${kindOf ? numbersText(kindOf, body) : kindName(kind)}, ${formatMoment(body.timestamp)}`
  const person = measurement.patient ?? measurement.helped?.name
  return (
    <li>
      <div className="grow">
        <strong>{kindName(kind)}</strong>
        <p>{summary}</p>
        {person && <p className="help">{t('queue.for', { name: person })}</p>}
        {measurement.refusal && <Refusal me={me} measurement={measurement} code={measurement.refusal.code} />}
      </div>
      <ConfirmButton
        label={t('queue.delete')}
        about={summary}
        question={t('queue.deleteQuestion')}
        yes={t('queue.deleteYes')}
        onConfirm={async () => {
          await removeFromQueue(measurement)
          await refreshQueue(queries, account)
        }}
      />
    </li>
  )
}

function Refusal({ me, measurement, code }: { me: Me; measurement: QueuedMeasurement; code: string }) {
  const t = useText()
  const path = correctionPath(me, measurement)
  return (
    <p className="error">
      {t('queue.refused')} {translateName(`problem.${code}`, '')}{' '}
      {path ? (
        <Link to={path}>{t('queue.correct')}</Link>
      ) : (
        t('queue.actFirst', { name: measurement.helped?.name })
      )}
    </p>
  )
}

/** Says on the other pages that the service refused something that waited. */
export function RefusalNote({ me }: { me: Me }) {
  const t = useText()
  const refusedMeasurements = useShown(me).filter(({ refusal }) => refusal)
  if (refusedMeasurements.length === 0) return null
  return (
    <p role="alert" className="note bad">
      {t('queue.refusedCount', { count: refusedMeasurements.length })} <Link to="/">{t('queue.show')}</Link>
    </p>
  )
}
