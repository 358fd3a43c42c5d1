import { useRoute } from '../../browser/router.tsx'
import type { Me } from '../../model/me.ts'
import { isQueueOn, type QueuedMeasurement, useQueue, useQueueAccount } from './measurement-queue.ts'

/** Own pages show all that waits for the user, pages about somebody only theirs. */
export const isShownTo = ({ ehrId, isPatient, acts }: Me, measurement: QueuedMeasurement): boolean =>
  (isPatient && !acts) || measurement.ehrId === ehrId

/** The page whose form corrects a refused measurement; undefined if the user must act for the person first. */
export function correctionPath({ mvUid, acts }: Me, measurement: QueuedMeasurement): string | undefined {
  const { ehrId, patient, kind, key, helped } = measurement
  if (patient !== undefined) return `/patients/${ehrId}?queued=${key}`
  return helped?.mvUid === (acts && mvUid) ? `/measure?kind=${kind}&queued=${key}` : undefined
}

/** The refused measurement that the URL names; null until it is known. */
export function useRefused(me: Me): QueuedMeasurement | null | undefined {
  const key = useRoute().query.get('queued')
  const account = useQueueAccount()
  const queue = useQueue()
  if (key === null || !isQueueOn(account)) return undefined
  if (!queue) return null
  return queue.find(
    (one) => one.key === key && one.ehrId === me.ehrId && correctionPath(me, one) !== undefined,
  )
}
