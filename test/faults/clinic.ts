import assert from 'node:assert/strict'
import type { Db, MongoClient } from 'mongodb'
import { type User, usersOf } from '../../records/accounts/user.ts'
import { newId } from '../../records/id.ts'
import { setRole } from '../../records/roles.ts'
import { password } from '../helper.ts'
import type { Answer, Call, Victim } from './victim.ts'

/** An EHR about somebody of its own, and what there is in it. */
export interface Place {
  /** The EHR's subject, and whatever else needs a name. */
  name: string
  /** Users who can take part. */
  guests: [string, string]
  ehrId?: string
  carePlanId?: string
  goalId?: string
  taskId?: string
  eventId?: string
  participationId?: string
  pressureId?: string
}

/** Something that there can be in an EHR: how it is made, and what its id is called. */
export interface Part {
  make(place: Place): Call
  id?: Exclude<keyof Place, 'name' | 'guests'>
}

/** A nurse and administrator, who works on many EHRs. What she logs in with outlives the service. */
export class Clinic {
  readonly #db: Db
  readonly #headers: Record<string, string>

  private constructor(db: Db, headers: Record<string, string>) {
    this.#db = db
    this.#headers = headers
  }

  static async open(client: MongoClient, db: Db, victim: Victim): Promise<Clinic> {
    const email = 'nurse@example.org'
    const signUp = { username: email, email, password }
    await done(victim, { method: 'POST', path: '/1/users', headers: victim.keys, body: signUp })
    await usersOf(db).updateOne({ email }, { $set: { emailVerified: true } })
    const logIn = { method: 'POST', path: '/auth/login/password', body: { email, password } } as const
    const { mvUid, authToken, sessionToken } = await done(victim, logIn)
    await client.withSession((session) =>
      session.withTransaction(() => setRole({ client, db }, session, mvUid, 'admin', true)),
    )
    const classFamily = { ...victim.keys, 'x-parse-session-token': sessionToken }
    return new Clinic(db, { ...classFamily, authorization: `Bearer ${authToken}` })
  }

  /** A new EHR with these parts; none: only somebody whom one could be about. */
  async place(victim: Victim, name: string, parts: readonly Part[]): Promise<Place> {
    const place: Place = { name, guests: [await this.#newGuest(name, 1), await this.#newGuest(name, 2)] }
    for (const { make, id } of parts) {
      const body = await done(victim, this.signed(make(place)))
      if (id) place[id] = body.id ?? body.participationId ?? body.objectId
    }
    return place
  }

  /** A call of either family with what tells that it comes from the nurse. */
  signed(call: Call): Call {
    return { ...call, headers: { ...call.headers, ...this.#headers } }
  }

  /** An account that nobody has used yet; its address tells whose guest it is. */
  async #newGuest(name: string, number: number): Promise<string> {
    const [_id, at] = [newId(), new Date()]
    const email = `guest-${number}@${name}.example.org`
    const times = { _created_at: at, _updated_at: at }
    const account: User = { _id, email, username: email, emailVerified: true, version: 1, ...times }
    await usersOf(this.#db).insertOne({ ...account, _rperm: [_id], _wperm: [_id] })
    return _id
  }
}

async function done(victim: Victim, call: Call): Promise<Answer['body']> {
  const { status, body } = await victim.send(call)
  assert.ok(status < 300, `${call.method} ${call.path}: ${status} ${JSON.stringify(body)}`)
  return body
}
