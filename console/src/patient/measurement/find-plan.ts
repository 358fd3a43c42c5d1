import { type Client, isProblem } from 'health-record-client'
import { listOpenPlans } from '../../model/health-record.ts'
import { translate } from '../../texts/translate.ts'

interface PlanRequest {
  client: Client
  measurement: { key: string; ehrId: string; kind: string }
  signal: AbortSignal | undefined
}

/** Whether a plan has thresholds for a kind of measurement, or expects it. */
async function isWatched({ client, measurement, signal }: PlanRequest, careplanId: string): Promise<boolean> {
  const { ehrId, kind } = measurement
  const request = { params: { path: { ehrId, careplanId } }, signal }
  try {
    const [thresholds, rules] = await Promise.all([
      client.GET('/ehr/{ehrId}/careplan/{careplanId}/thresholds', request),
      client.GET('/ehr/{ehrId}/careplan/{careplanId}/alert-rules', request),
    ])
    return kind in thresholds.data || (rules.data.expected ?? []).some((one) => one.kind === kind)
  } catch (error) {
    // Helpers may not read the rules of every plan.
    if (isProblem(error) && (error.status === 403 || error.status === 404)) return false
    throw error
  }
}

/**
 * The care plan in which a measurement belongs: the latest open one that watches its kind, so that its alerts are raised,
 * or else the latest one. Somebody without a plan gets one.
 */
export async function findPlan(request: PlanRequest): Promise<string> {
  const { client, measurement, signal } = request
  const { ehrId, key } = measurement
  const plans = await listOpenPlans(client, ehrId, signal)
  const [latest, ...others] = plans
  if (latest) {
    const watching = others.length > 0 ? await Promise.all(plans.map(({ id }) => isWatched(request, id))) : []
    return (plans.find((_, at) => watching[at]) ?? latest).id
  }
  const body = { name: translate('plan.own') }
  const headers = { 'idempotency-key': `plan-of-${key}` }
  const params = { path: { ehrId } }
  return (await client.POST('/ehr/{ehrId}/careplan', { params, body, headers, signal })).data.id
}
