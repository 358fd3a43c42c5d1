import { type Client, isProblem, type Problem } from 'health-record-client'
import type { Me } from '../../model/me.ts'
import { findPlan } from './find-plan.ts'

/** A measurement as it is sent. */
export interface MeasurementToSend {
  /** Idempotency-Key: however often it is sent, it is stored once. */
  key: string
  ehrId: string
  /** The kind's name in URLs: `bloodpressure`. */
  kind: string
  body: Readonly<Record<string, unknown>> & { timestamp: string; carePlanId?: string | undefined }
}

/** A stored measurement: its numbers with their units, as they were sent. */
export type SavedMeasurement = Readonly<Record<string, unknown>> & { id: string }

/** Of a value that a professional measured, nobody knows whether a device sensed it. */
export const sourceOf = ({ isPatient }: Me) => (isPatient ? { source: 'self-reported' as const } : {})

interface SendOptions<M extends MeasurementToSend> {
  /** Takes the measurement with its care plan before it is sent, since a retry must send the same. */
  keep: (complete: M) => unknown
  signal?: AbortSignal
}

/** Stores a measurement, by default in the care plan that watches it. */
export async function sendMeasurement<M extends MeasurementToSend>(
  client: Client,
  measurement: M,
  { keep, signal }: SendOptions<M>,
): Promise<SavedMeasurement> {
  const { ehrId, kind, key } = measurement
  let { body } = measurement
  if (!body.carePlanId) {
    body = { ...body, carePlanId: await findPlan({ client, measurement, signal }) }
    await keep({ ...measurement, body })
  }
  const path = `/ehr/{ehrId}/procedure/${kind}` as '/ehr/{ehrId}/procedure/bodyweight'
  const headers = { 'idempotency-key': key }
  const { data } = await client.POST(path, {
    params: { path: { ehrId } },
    body: body as never,
    headers,
    signal,
  })
  return data as unknown as SavedMeasurement
}

/** Whether no answer came: the measurement may have been stored, and its key finds it. */
export const isUnanswered = (error: unknown): error is Problem => isProblem(error, 'network-error', 'timeout')

/** Answers after which the same request may succeed later: after a login, or a while. */
const PASSING_STATUSES = [401, 408, 429]

/** Whether the service will never accept it as it is. */
export const isRefusal = (error: unknown): error is Problem =>
  isProblem(error) &&
  error.status >= 400 &&
  error.status < 500 &&
  !PASSING_STATUSES.includes(error.status) &&
  error.code !== 'idempotency-key-in-use'
