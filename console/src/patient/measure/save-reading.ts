import type { MeasurementKind } from 'virtual:measurement-kinds'
import { useQueryClient } from '@tanstack/react-query'
import { createIdempotencyKey, isProblem } from 'health-record-client'
import { forgetRequest, keepRequest, requestOf } from '../../browser/drafts.ts'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { api, useSession } from '../../session/user-session.ts'
import { toLocalTime, toOffsetTime } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import { fieldsProblem } from '../../ui/form/fields-problem.ts'
import { bannerQuery } from '../banner/banner-query.ts'
import { isTimed, type Reading, readNumbers, rememberUnits } from '../measurement/reading.ts'
import {
  isRefusal,
  isUnanswered,
  type MeasurementToSend,
  sendMeasurement,
  sourceOf,
} from '../measurement/send-measurement.ts'
import {
  addToQueue,
  mayQueue,
  type QueuedMeasurement,
  refreshQueue,
  removeFromQueue,
} from '../queue/measurement-queue.ts'
import type { SavedReading } from './saved-note.tsx'

interface SaveOptions {
  me: Me
  kind: MeasurementKind
  /** The care plan; by default the first one. */
  planId?: string | undefined
  /** The refused measurement that the reading corrects. */
  correctedMeasurement?: QueuedMeasurement | undefined
}

/** A reading as it is sent. @throws Problem that lists all violations */
function toMeasurement({ me, kind, planId }: SaveOptions, reading: Reading): MeasurementToSend {
  const numbers = readNumbers(kind, reading)
  if (isTimed(reading) && reading.time === '')
    throw fieldsProblem([{ field: 'timestamp', message: translate('violation.time') }])
  const timestamp = toOffsetTime(reading.time === '' ? new Date() : new Date(reading.time))
  const comment = reading.comment.trim() || null
  return {
    key: createIdempotencyKey(),
    ehrId: me.ehrId,
    kind: kind.path,
    body: { ...numbers, carePlanId: planId, timestamp, comment, ...sourceOf(me) },
  }
}

/** The stored form of a reading that waits for the network. */
function useToQueued({ me }: SaveOptions) {
  const queries = useQueryClient()
  const session = useSession()
  const { mvUid: account = '', helpedPerson } = session.status === 'in' ? session : {}
  return ({ reading, measurement }: Sending): QueuedMeasurement => {
    const name = queries.getQueryData(bannerQuery(me.ehrId).queryKey)?.name
    // Shown again, the form must not take the time of that moment.
    const time = reading.time || toLocalTime(new Date(measurement.body.timestamp))
    return {
      ...measurement,
      account,
      reading: { ...reading, time },
      ...(helpedPerson && { helped: helpedPerson }),
      ...(!me.isPatient && { patient: name ?? translate('patient.unnamed', { ehrId: me.ehrId }) }),
    }
  }
}

/** The typed reading, and the request that saves it. */
interface Sending {
  reading: Reading
  measurement: MeasurementToSend
}

/** Stores a reading; without an answer of the service, in the queue of this device if the person has turned it on. */
export function useSaveReading(options: SaveOptions) {
  const { me, kind, planId, correctedMeasurement } = options
  const queries = useQueryClient()
  const toQueued = useToQueued(options)
  const slot = [me.mvUid, 'sending', me.ehrId, kind.path, correctedMeasurement?.key].join(':')

  async function sendOrQueue(reading: Reading): Promise<SavedReading> {
    const text = JSON.stringify([reading, planId])
    // The same reading has one key and one time, so that a second tap or a retry stores it once.
    let measurement = requestOf(slot, text, () => toMeasurement(options, reading))
    const keep = (complete: MeasurementToSend) => {
      measurement = complete
      keepRequest(slot, text, complete)
    }
    try {
      return await sendMeasurement(api, measurement, { keep })
    } catch (error) {
      // Its key would get the same answer again, although the reason may be gone.
      if (isRefusal(error)) forgetRequest(slot)
      const queuedMeasurement = toQueued({ reading, measurement })
      if (!isUnanswered(error) || !mayQueue(queuedMeasurement.account)) throw error
      await addToQueue(queuedMeasurement).catch((fault) => {
        throw isProblem(fault) ? fault : error
      })
      await refreshQueue(queries, queuedMeasurement.account)
      return { ...queuedMeasurement.body, id: queuedMeasurement.key, isQueued: true }
    }
  }

  return async (reading: Reading): Promise<SavedReading> => {
    const savedReading = await sendOrQueue(reading)
    forgetRequest(slot)
    rememberUnits(reading)
    if (correctedMeasurement) {
      await removeFromQueue(correctedMeasurement)
      await refreshQueue(queries, correctedMeasurement.account)
    }
    if (!savedReading.isQueued) await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId) })
    return savedReading
  }
}
