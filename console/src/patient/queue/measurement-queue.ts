import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { Problem } from 'health-record-client'
import { createDeviceStore, type DeviceRecord } from '../../browser/device-store.ts'
import { browserStorage } from '../../browser/storage.ts'
import { currentSession, type HelpedPerson, useSession } from '../../session/user-session.ts'
import type { Reading } from '../measurement/reading.ts'
import type { MeasurementToSend } from '../measurement/send-measurement.ts'

/** A measurement that waits on this device until the service can be reached. */
export interface QueuedMeasurement extends MeasurementToSend, DeviceRecord {
  /** The person for whom the account acted as a helper. */
  helped?: HelpedPerson
  /** Name of the patient at whose page a professional entered it. */
  patient?: string
  /** The typed text, so that a form can show it again. */
  reading: Reading
  /** Why the service did not accept it. */
  refusal?: Refusal
}

type Refusal = ConstructorParameters<typeof Problem>[0]

const MAX_QUEUED = 100
/** Prefix of the key. The setting is stored per account, since several people may use the device. */
const SETTING = 'queue:'

const store = createDeviceStore<QueuedMeasurement>('measurement-queue')

/** Whether the person lets this device keep measurements. */
export const isQueueOn = (account: string): boolean => browserStorage.get(SETTING + account) !== null

export function turnQueueOn(account: string): void {
  browserStorage.set(SETTING + account, 'on')
  // Otherwise a browser that lacks space may remove what waits. Some ask the person first.
  navigator.storage?.persist().catch(() => {})
}

/** Also deletes what waits. */
export async function turnQueueOff(account: string): Promise<void> {
  await store.removeAll(account)
  browserStorage.remove(SETTING + account)
}

/** The waiting measurements, in the order of measuring. */
export const queueQuery = (account: string) =>
  queryOptions({
    queryKey: ['queue', account],
    queryFn: async () =>
      (await store.readAll(account)).sort((a, b) => a.body.timestamp.localeCompare(b.body.timestamp)),
    staleTime: 0,
    throwOnError: false,
  })

export const refreshQueue = (queries: QueryClient, account: string) => queries.fetchQuery(queueQuery(account))

/** The user whose measurements wait, also while they act for somebody. */
export function useQueueAccount(): string {
  const session = useSession()
  return session.status === 'in' ? session.mvUid : ''
}

/** The waiting measurements of the user; undefined until they are known. */
export function useQueue(): QueuedMeasurement[] | undefined {
  const account = useQueueAccount()
  return useQuery({ ...queueQuery(account), enabled: isQueueOn(account) }).data
}

/** Whether the user is still logged in, and lets this device keep measurements. */
export function mayQueue(account: string): boolean {
  const session = currentSession()
  return session.status === 'in' && session.mvUid === account && isQueueOn(account)
}

/** @throws Problem if too many wait already */
export async function addToQueue(measurement: QueuedMeasurement): Promise<void> {
  const { length } = await store.readAll(measurement.account)
  if (length >= MAX_QUEUED) throw new Problem({ status: 0, code: 'queue-full', title: '' })
  await store.put(measurement)
}

export const { replace: replaceInQueue, remove: removeFromQueue, removeAll: clearQueue } = store

/** The refusal of the service, without the parts that cannot be stored. */
export const refusalOf = ({ status, code, title, detail, errors, requestId }: Problem): Refusal => ({
  status,
  code,
  title,
  detail,
  errors,
  requestId,
})
