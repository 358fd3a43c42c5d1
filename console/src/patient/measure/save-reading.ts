import type { MeasurementKind } from 'virtual:measurement-kinds'
import { useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { plansQuery } from '../../model/health-record.ts'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { toOffsetTime } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import { type Reading, readNumbers, rememberUnits } from './reading.ts'
import type { SavedReading } from './saved-note.tsx'

/** Each body has one key, so that a second tap or a retry stores it once. */
function useIdempotencyKey(): (body: object) => string {
  const last = useRef({ text: '', key: '' })
  return (body) => {
    const text = JSON.stringify(body)
    if (text !== last.current.text) last.current = { text, key: crypto.randomUUID() }
    return last.current.key
  }
}

/** Stores a reading in a care plan, by default the first one of the person, who gets one if there is none. */
export function useSaveReading(me: Me, kind: MeasurementKind, planId?: string) {
  const queries = useQueryClient()
  const keyOf = useIdempotencyKey()
  const now = useRef('')
  const { ehrId } = me
  return async (reading: Reading): Promise<SavedReading> => {
    const numbers = readNumbers(kind, reading)
    const carePlanId =
      planId ?? (await queries.fetchQuery(plansQuery(ehrId)))[0]?.id ?? (await createPlan(ehrId))
    // A retry sends the time of the first attempt.
    now.current ||= toOffsetTime(new Date())
    const timestamp = reading.time === '' ? now.current : toOffsetTime(new Date(reading.time))
    const comment = reading.comment.trim() || null
    const body = { ...numbers, carePlanId, timestamp, comment, ...sourceOf(me) }
    const { data } = await api.POST(
      `/ehr/{ehrId}/procedure/${kind.path}` as '/ehr/{ehrId}/procedure/bodyweight',
      {
        params: { path: { ehrId } },
        body: body as never,
        headers: { 'idempotency-key': keyOf(body) },
      },
    )
    now.current = ''
    rememberUnits(reading)
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
    return data as unknown as SavedReading
  }
}

/** Of a value that a professional measured, nobody knows whether a device sensed it. */
const sourceOf = ({ isPatient }: Me) => (isPatient ? { source: 'self-reported' as const } : {})

async function createPlan(ehrId: string): Promise<string> {
  const body = { name: translate('plan.own') }
  return (await api.POST('/ehr/{ehrId}/careplan', { params: { path: { ehrId } }, body })).data.id
}
