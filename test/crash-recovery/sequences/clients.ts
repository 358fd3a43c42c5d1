import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../harness/wait.ts'
import type { ServiceAnswer, ServiceCall } from '../service/crash-service.ts'
import { logIn, TrialClinic } from '../trials/clinic.ts'
import type { Cluster } from './cluster.ts'
import type { SentOperation } from './explanation.ts'
import {
  CLASS_OF,
  type Creation,
  EVENT,
  fieldsOf,
  type Operation,
  PRESSURE,
  type RecordName,
  type RecordPaths,
  requestOf,
} from './model.ts'

/** A creation of a goal with its response. */
export interface SentCreation {
  text: string
  planId: string
  /** Whether the closing of its plan had begun when the response came. */
  isClosing: boolean
  status: number
  id: string | undefined
}

interface ClosingPlan {
  id: string
  isClosing: boolean
}

/** The id by which the audit names an operation. */
export const requestIdOf = (number: number): string => `operation-${number}`

const CLIENT_COUNT = 8
const NURSE = 'nurse-0@example.org'

/** A response that does not tell whether the request was carried out. */
const LOST: ServiceAnswer = { status: 0, etag: '', body: undefined }

/** Clients of both families and both instances, who change the same records at the same time. */
export class Clients {
  readonly operations = new Map<RecordName, SentOperation[]>()
  readonly creations: SentCreation[] = []
  readonly ids = new Map<RecordName, string>()
  readonly closedPlans: string[] = []
  #ehrId = ''
  #headers: Record<string, string> = {}
  #number = 0
  readonly #cluster: Cluster

  private constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Creates the records, each with two versions: a restoration needs a former one. */
  static async start(cluster: Cluster): Promise<Clients> {
    const clients = new Clients(cluster)
    const clinic = await TrialClinic.open(cluster.client, cluster.db, cluster.service(0))
    const createEhr = ({ name }: { name: string }): ServiceCall => ({
      method: 'POST',
      path: '/ehr',
      body: { subjectId: name },
    })
    const { ehrId = '' } = await clinic.createEhr(
      cluster.service(0),
      0,
      [{ make: createEhr, id: 'ehrId' }],
      false,
    )
    clients.#ehrId = ehrId
    await clients.logIn()
    await clients.#createRecords()
    return clients
  }

  get ehrId(): string {
    return this.#ehrId
  }

  /** A service may still look for its database. */
  async logIn(): Promise<void> {
    this.#headers = await waitFor(() =>
      logIn(this.#cluster.service(0), NURSE).then(
        ({ headers }) => headers,
        () => undefined,
      ),
    )
  }

  async #createRecords(): Promise<void> {
    const plan = await this.#create('careplan', { name: 'plan' })
    this.ids.set('plan', plan)
    await this.#require({
      method: 'PUT',
      path: `/ehr/${this.#ehrId}/careplan/${plan}/thresholds`,
      body: { bloodpressure: 'esc2018' },
    })
    const pressure = { carePlanId: plan, ...PRESSURE, systolic: 118 }
    for (const name of ['goal 1', 'goal 2', 'pressure 1', 'pressure 2'] as const)
      this.ids.set(
        name,
        name.startsWith('goal')
          ? await this.#create(`careplan/${plan}/goal`, { name })
          : await this.#create('procedure/bloodpressure', { ...pressure, comment: name }),
      )
    const { id } = await this.#require({
      method: 'POST',
      path: `/med/${this.#ehrId}/event`,
      body: { carePlanId: plan, ...EVENT, title: 'event' },
    })
    this.ids.set('event', id)
    for (const record of Object.keys(CLASS_OF) as RecordName[])
      await this.#change({ action: 'set', family: 'class', record, conditional: false }, new Map())
  }

  async #require(call: ServiceCall): Promise<ServiceAnswer['body']> {
    const { status, body } = await this.#cluster.service(0).send({ ...call, headers: this.#headers })
    assert.ok(status < 300, `${call.method} ${call.path}: ${status} ${JSON.stringify(body)}`)
    return body
  }

  async #create(path: string, body: object): Promise<string> {
    return (await this.#require({ method: 'POST', path: `/ehr/${this.#ehrId}/${path}`, body })).id
  }

  /** Logs in, and creates a plan for creations. All processes must run. */
  async prepare(): Promise<ClosingPlan> {
    await this.logIn()
    const plan = { id: await this.#create('careplan', { name: 'to close' }), isClosing: false }
    this.closedPlans.push(plan.id)
    return plan
  }

  /** Sends all operations; the plan for creations is closed after `closeAfter` of them. */
  async run(
    operations: readonly (Operation | Creation)[],
    plan: ClosingPlan,
    closeAfter: number,
  ): Promise<void> {
    const waiting = [...operations.entries()].reverse()
    const work = async (): Promise<void> => {
      const seenVersions = new Map<RecordName, number>()
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const [i, operation] = next
        if (i === closeAfter) await this.#close(plan)
        else if (operation.action === 'create') await this.#createGoal(operation, plan)
        else await this.#change(operation, seenVersions)
      }
    }
    await Promise.all(Array.from({ length: CLIENT_COUNT }, work))
  }

  /** Sends a request to one of the instances. */
  async #send(number: number, call: ServiceCall): Promise<ServiceAnswer> {
    const headers = { ...this.#headers, 'x-request-id': requestIdOf(number), ...call.headers }
    const answer = await this.#cluster
      .service(number)
      .send({ ...call, headers })
      .catch(() => LOST)
    const isOverdueRead = answer.status === 408 && call.method === 'GET'
    if (answer.status !== 0 && answer.status !== 503 && !isOverdueRead) return answer
    await sleep(50)
    return LOST
  }

  #pathsOf(record: RecordName): RecordPaths {
    const plan = this.ids.get('plan')
    const id = this.ids.get(record)
    const inPath = {
      CarePlan: `/ehr/${this.#ehrId}/careplan/${id}`,
      Goal: `/ehr/${this.#ehrId}/careplan/${plan}/goal/${id}`,
      BloodPressure: `/ehr/${this.#ehrId}/procedure/bloodpressure/${id}`,
      Event: `/med/${this.#ehrId}/event/${id}`,
    }
    return { class: `/1/classes/${CLASS_OF[record]}/${id}`, path: inPath[CLASS_OF[record]] }
  }

  /** @param seenVersions the versions that the client has seen */
  async #change(operation: Operation, seenVersions: Map<RecordName, number>): Promise<void> {
    const { record, action, conditional } = operation
    const number = ++this.#number
    const text = `text ${number}`
    const isConditional = conditional && action !== 'read' && action !== 'restore'
    const expected = isConditional ? seenVersions.get(record) : undefined
    const call = requestOf(operation, this.#pathsOf(record), number, text)
    const start = performance.now()
    const { status, etag, body } = await this.#send(number, {
      ...call,
      ...(expected !== undefined && { headers: { 'if-match': `"${expected}"` } }),
    })
    const end = performance.now()
    const versionText = /^"(\d+)/.exec(etag)?.[1]
    const version = versionText === undefined ? undefined : Number(versionText)
    if (version !== undefined) seenVersions.set(record, version)
    const fields = status < 300 && version !== undefined ? fieldsOf(CLASS_OF[record], body) : undefined
    const one = {
      number,
      text,
      operation,
      expected,
      start,
      end,
      status,
      version,
      fields,
      refusal: status < 300 ? '' : JSON.stringify(body),
    }
    const operations = this.operations.get(record) ?? []
    operations.push(one)
    this.operations.set(record, operations)
  }

  async #createGoal({ family }: Creation, plan: ClosingPlan): Promise<void> {
    const number = ++this.#number
    const text = `text ${number}`
    const planId = plan.id
    const { status, body } = await this.#send(
      number,
      family === 'path'
        ? { method: 'POST', path: `/ehr/${this.#ehrId}/careplan/${planId}/goal`, body: { name: text } }
        : {
            method: 'POST',
            path: '/1/classes/Goal',
            body: { ehrId: this.#ehrId, carePlanId: planId, name: text },
          },
    )
    const { isClosing } = plan
    this.creations.push({ text, planId, isClosing, status, id: body?.id ?? body?.objectId })
  }

  /** Like a client that repeats a request until it has a response. */
  async #close(plan: ClosingPlan): Promise<void> {
    plan.isClosing = true
    const call: ServiceCall = {
      method: 'POST',
      path: `/ehr/${this.#ehrId}/careplan/${plan.id}/close`,
      body: { closeOpen: true },
    }
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const { status, body } = await this.#send(++this.#number, call)
      if (status === 0) continue
      // The account has too many requests under way.
      if (status === 429) {
        await sleep(1_000)
        continue
      }
      assert.ok(status < 300 || /closed/.test(JSON.stringify(body)), `${status} ${JSON.stringify(body)}`)
      return
    }
    throw new Error('The plan could not be closed in a minute.')
  }
}
