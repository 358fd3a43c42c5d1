import { type Admission, AdmissionControl } from '../../../records/limits/admission/admission-control.ts'
import { ServiceError } from '../../../schemas/errors.ts'

/** A request, and what becomes of it. */
export interface Request {
  account: string
  arrivedAtMs: number
  /** The time that it takes the processor. */
  workMs: number
  /** The time that it waits for something else before. */
  idleMs?: number
  beganAtMs?: number
  endedAtMs?: number
  refusedAtMs?: number
  refusal?: ServiceError
}

interface RunningWork {
  request: Request
  admission: Admission
  leftMs: number
}

/** The time of the next event, or never. */
const soonest = (times: number[]): number => Math.min(Number.POSITIVE_INFINITY, ...times)

/** Carries out requests on a service whose running requests share one processor; no time passes outside. */
export async function simulate(workload: readonly Request[]): Promise<Request[]> {
  let nowMs = 0
  const timers = new Set<{ atMs: number; work: () => void }>()
  const control = new AdmissionControl({
    now: () => nowMs,
    wakeAfter: (ms, work) => void timers.add({ atMs: nowMs + ms, work }),
  })
  const requests = workload.map((one) => ({ ...one })).sort((a, b) => a.arrivedAtMs - b.arrivedAtMs)
  const running = new Set<RunningWork>()
  const idle = new Set<RunningWork & { untilMs: number }>()
  const begin = (request: Request, admission: Admission) => {
    request.beganAtMs = nowMs
    const work = { request, admission, leftMs: request.workMs }
    if (request.idleMs) idle.add({ ...work, untilMs: nowMs + request.idleMs })
    else running.add(work)
  }
  const refuse = (request: Request, error: unknown) => {
    if (!(error instanceof ServiceError)) throw error
    Object.assign(request, { refusal: error, refusedAtMs: nowMs })
  }
  let arrived = 0
  for (;;) {
    const arrivalMs = requests[arrived]?.arrivedAtMs ?? Number.POSITIVE_INFINITY
    const readyMs = soonest([...idle].map(({ untilMs }) => untilMs))
    const endMs = soonest([...running].map(({ leftMs }) => nowMs + leftMs * running.size))
    const timerMs = soonest([...timers].map(({ atMs }) => atMs))
    const nextMs = Math.min(arrivalMs, readyMs, endMs, timerMs)
    if (nextMs === Number.POSITIVE_INFINITY) return requests
    for (const work of running) work.leftMs -= (nextMs - nowMs) / running.size
    nowMs = nextMs
    for (const timer of timers) {
      if (timer.atMs > nowMs) continue
      timers.delete(timer)
      timer.work()
    }
    for (const work of idle) {
      if (work.untilMs > nowMs) continue
      idle.delete(work)
      running.add(work)
    }
    if (arrivalMs === nowMs) {
      const request = requests[arrived++] as Request
      control.admit(request.account).then(
        (admission) => begin(request, admission),
        (error) => refuse(request, error),
      )
    }
    for (const work of running) {
      if (work.leftMs > 1e-9) continue
      running.delete(work)
      work.request.endedAtMs = nowMs
      work.admission.release()
    }
    // Admissions are promises.
    await new Promise(setImmediate)
  }
}
