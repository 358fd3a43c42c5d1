import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Db, MongoClient } from 'mongodb'
import { type User, usersOf } from '../../../records/accounts/user/user.ts'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import { BLOOD_PRESSURE, templateXml } from '../../harness/openehr.ts'
import { password } from '../../harness/people/people.ts'
import { sized } from '../../harness/size.ts'
import type { Answer, Call, Victim } from '../victim/victim.ts'

/** An EHR about somebody of its own, and what there is in it. */
export interface Place {
  /** The EHR's subject, and whatever else needs a name. */
  name: string
  /** What the nurse who works on it sends with their calls. */
  headers: Record<string, string>
  /** What the subject sends, where that is a user: one who has not agreed to the EHR. */
  subject?: Record<string, string>
  /** Users who can take part. */
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

/** Something that there can be in an EHR: how it is made, and what its id is called. */
export interface Part {
  make(place: Place): Call
  id?: Exclude<keyof Place, 'name' | 'headers' | 'subject' | 'guests'>
}

const NURSES = sized(2, 8)

/** The template of the compositions. */
export const TEMPLATE = 'Pressure'

/**
 * Nurses, who are administrators too, but for the last: what an administrator makes for a user waits for nobody. What
 * they log in with outlives the service.
 */
export class Clinic {
  readonly #db: Db
  /** What each one sends with every call, of either family. */
  readonly #nurses: Record<string, string>[] = []

  private constructor(db: Db) {
    this.#db = db
  }

  /** With so many nurses that none of them holds the roles of hundreds of EHRs. */
  static async open(client: MongoClient, db: Db, victim: Victim): Promise<Clinic> {
    const clinic = new Clinic(db)
    for (let i = 0; i <= NURSES; i++) await clinic.#employ(client, victim, i)
    await done(victim, {
      ...{
        method: 'POST',
        path: '/med/knowledge/template',
        body: templateXml(TEMPLATE, TEMPLATE, BLOOD_PRESSURE),
      },
      headers: { ...clinic.#nurses[0], 'content-type': 'application/xml' },
    })
    return clinic
  }

  async #employ(client: MongoClient, victim: Victim, number: number): Promise<void> {
    const email = `nurse-${number}@example.org`
    const signUp = { username: email, email, password, termsAccepted: true }
    await done(victim, { method: 'POST', path: '/1/users', headers: victim.keys, body: signUp })
    // The account is made after the answer.
    while ((await usersOf(this.#db).updateOne({ email }, { $set: { emailVerified: true } })).matchedCount < 1)
      await setTimeout(20)
    const { mvUid, headers } = await logIn(victim, email)
    if (number < NURSES)
      await client.withSession((session) =>
        session.withTransaction(async () => {
          for (const role of ['admin', 'modeller'])
            await setRole({ client, db: this.#db }, session, mvUid, role, true)
        }),
      )
    this.#nurses.push(headers)
  }

  /** A new EHR with these parts; none: only somebody whom one could be about. @param ofUser whether that is a user */
  async place(victim: Victim, number: number, parts: readonly Part[], ofUser: boolean): Promise<Place> {
    // A user's id has ten letters and digits.
    const name = `${ofUser ? 'user' : 'person-'}${String(number).padStart(6, '0')}`
    const headers = this.#nurses[ofUser ? NURSES : number % NURSES] ?? {}
    const place: Place = {
      ...{ name, headers },
      ...(ofUser && { subject: await this.#newUser(victim, name) }),
      guests: [await this.#newGuest(name, 1), await this.#newGuest(name, 2)],
    }
    for (const { make, id } of parts) {
      const body = await done(victim, { ...make(place), headers })
      if (id) place[id] = body.id ?? body.participationId ?? body.objectId ?? body.compositionId
    }
    return place
  }

  /** An account that nobody has used yet; its address tells whose guest it is. */
  #newGuest(name: string, number: number): Promise<string> {
    return this.#newAccount(newId(), `guest-${number}@${name}.example.org`)
  }

  /** @returns what a new user sends, who has the nurses' password */
  async #newUser(victim: Victim, id: string): Promise<Record<string, string>> {
    const email = `${id}@example.org`
    const nurse = await usersOf(this.#db).findOne({ email: 'nurse-0@example.org' })
    const { _hashed_password } = nurse as unknown as Record<string, string>
    await this.#newAccount(id, email, { _hashed_password })
    return (await logIn(victim, email)).headers
  }

  async #newAccount(_id: string, email: string, more: object = {}): Promise<string> {
    const at = new Date()
    const times = { _created_at: at, _updated_at: at }
    const account: User = { _id, email, username: email, emailVerified: true, version: 1, ...times }
    await usersOf(this.#db).insertOne({ ...account, ...more, _rperm: [_id], _wperm: [_id] })
    return _id
  }
}

async function logIn(victim: Victim, email: string) {
  const call = { method: 'POST', path: '/auth/login/password', body: { email, password } } as const
  const { mvUid, authToken, sessionToken } = await done(victim, call)
  const classFamily = { ...victim.keys, 'x-parse-session-token': sessionToken }
  return { mvUid, headers: { ...classFamily, authorization: `Bearer ${authToken}` } }
}

async function done(victim: Victim, call: Call): Promise<Answer['body']> {
  const { status, body } = await victim.send(call)
  assert.ok(status < 300, `${call.method} ${call.path}: ${status} ${JSON.stringify(body)}`)
  return body
}
