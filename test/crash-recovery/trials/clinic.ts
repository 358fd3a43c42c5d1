import assert from 'node:assert/strict'
import { setTimeout, setTimeout as sleep } from 'node:timers/promises'
import type { Db, MongoClient } from 'mongodb'
import { type User, usersOf } from '../../../records/accounts/user/user.ts'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import { BLOOD_PRESSURE, createTemplateXml } from '../../harness/openehr-samples.ts'
import { password } from '../../harness/people/people.ts'
import { bySize } from '../../harness/test-size.ts'
import type { CrashService, ServiceAnswer, ServiceCall } from '../service/crash-service.ts'

/** An EHR for one trial, with its records. */
export interface TrialEhr {
  /** The EHR's subject; also used for other names. */
  name: string
  /** The headers of the nurse who works on it. */
  headers: Record<string, string>
  /** The headers of the subject, if it is a user, who has not agreed to the EHR. */
  subject?: Record<string, string>
  /** Users who can become participants. */
  guests: [string, string]
  ehrId?: string
  carePlanId?: string
  goalId?: string
  taskId?: string
  eventId?: string
  participationId?: string
  pressureId?: string
  topicId?: string
  messageId?: string
  recordId?: string
  compositionId?: string
}

/** A record that an EHR can contain: how to create it, and the name of its id. */
export interface EhrPart {
  make(place: TrialEhr): ServiceCall
  id?: Exclude<keyof TrialEhr, 'name' | 'headers' | 'subject' | 'guests'>
}

const NURSE_COUNT = bySize(2, 8)

/** The template of the compositions. */
export const TEMPLATE = 'Pressure'

/**
 * Nurses. All except the last are administrators, too, because an EHR that an administrator creates for a
 * user is never pending. Their logins survive the service.
 */
export class TrialClinic {
  readonly #db: Db
  /** The headers of each nurse, for either family. */
  readonly #nurses: Record<string, string>[] = []

  private constructor(db: Db) {
    this.#db = db
  }

  /** Creates so many nurses that none of them has the roles of hundreds of EHRs. */
  static async open(client: MongoClient, db: Db, victim: CrashService): Promise<TrialClinic> {
    const clinic = new TrialClinic(db)
    for (let i = 0; i <= NURSE_COUNT; i++) await clinic.#addNurse(client, victim, i)
    await requireSuccess(victim, {
      method: 'POST',
      path: '/med/knowledge/template',
      body: createTemplateXml(TEMPLATE, TEMPLATE, BLOOD_PRESSURE),
      headers: { ...clinic.#nurses[0], 'content-type': 'application/xml' },
    })
    return clinic
  }

  async #addNurse(client: MongoClient, victim: CrashService, number: number): Promise<void> {
    const email = `nurse-${number}@example.org`
    const signUp = { username: email, email, password, termsAccepted: true }
    await requireSuccess(victim, { method: 'POST', path: '/1/users', headers: victim.keys, body: signUp })
    // The account is created after the response.
    while ((await usersOf(this.#db).updateOne({ email }, { $set: { emailVerified: true } })).matchedCount < 1)
      await setTimeout(20)
    const { mvUid, headers } = await logIn(victim, email)
    if (number < NURSE_COUNT)
      await client.withSession((session) =>
        session.withTransaction(async () => {
          for (const role of ['admin', 'modeller'])
            await setRole({ client, db: this.#db }, session, mvUid, role, true)
        }),
      )
    this.#nurses.push(headers)
  }

  /**
   * Creates an EHR with these parts; without parts only a subject without an EHR.
   * @param ofUser whether the subject is a user
   */
  async createEhr(
    victim: CrashService,
    number: number,
    parts: readonly EhrPart[],
    ofUser: boolean,
  ): Promise<TrialEhr> {
    // A user's id has ten letters and digits.
    const name = `${ofUser ? 'user' : 'person-'}${String(number).padStart(6, '0')}`
    const headers = this.#nurses[ofUser ? NURSE_COUNT : number % NURSE_COUNT] ?? {}
    const place: TrialEhr = {
      name,
      headers,
      ...(ofUser && { subject: await this.#newUser(victim, name) }),
      guests: [await this.#newGuest(name, 1), await this.#newGuest(name, 2)],
    }
    for (const { make, id } of parts) {
      const body = await requireSuccess(victim, { ...make(place), headers })
      if (id) place[id] = body.id ?? body.participationId ?? body.objectId ?? body.compositionId
    }
    return place
  }

  /** Creates an unused account; its address names the EHR whose guest it is. */
  #newGuest(name: string, number: number): Promise<string> {
    return this.#newAccount(newId(), `guest-${number}@${name}.example.org`)
  }

  /** @returns the headers of a new user, who has the nurses' password */
  async #newUser(victim: CrashService, id: string): Promise<Record<string, string>> {
    const email = `${id}@example.org`
    const nurse = await usersOf(this.#db).findOne({ email: 'nurse-0@example.org' })
    const { _hashed_password } = nurse as unknown as Record<string, string>
    await this.#newAccount(id, email, { _hashed_password })
    return (await logIn(victim, email)).headers
  }

  async #newAccount(_id: string, email: string, more: object = {}): Promise<string> {
    const time = new Date()
    const times = { _created_at: time, _updated_at: time }
    const account: User = { _id, email, username: email, emailVerified: true, version: 1, ...times }
    await usersOf(this.#db).insertOne({ ...account, ...more, _rperm: [_id], _wperm: [_id] })
    return _id
  }
}

export async function logIn(victim: CrashService, email: string) {
  const call = { method: 'POST', path: '/auth/login/password', body: { email, password } } as const
  const { mvUid, authToken, sessionToken } = await requireSuccess(victim, call)
  const classFamily = { ...victim.keys, 'x-parse-session-token': sessionToken }
  return { mvUid, headers: { ...classFamily, authorization: `Bearer ${authToken}` } }
}

async function requireSuccess(victim: CrashService, call: ServiceCall): Promise<ServiceAnswer['body']> {
  let answer = await victim.send(call)
  // Many EHRs are made at once: a busy service asks to try again later.
  for (let i = 0; i < 10 && answer.status === 429; i++) {
    await sleep(2_000)
    answer = await victim.send(call)
  }
  const { status, body } = answer
  assert.ok(status < 300, `${call.method} ${call.path}: ${status} ${JSON.stringify(body)}`)
  return body
}
