import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import PostalMime from 'postal-mime'
import type { TokenGrant } from '../../../schemas/accounts/login.ts'
import type { Actor, Identity } from '../generator/context/fuzz-request.ts'
import type { FuzzedService } from './fuzzed-service.ts'

const createPassword = (): string => `correct horse ${randomUUID()}`

/** Only the newest mails are kept, since other requests cause mails, too. */
const MAX_MAILS = 100

export const createAddress = (): string => `user-${randomUUID()}@example.org`

/** The actors, each with an account of their own, except nobody. */
export class FuzzAccounts {
  readonly #service: FuzzedService
  readonly #known = new Map<Actor, Identity>()
  readonly #onNew: (actor: Actor, identity: Identity) => void
  readonly #renewals = new Map<Actor, Promise<void>>()

  /** @param onNew called for each actor with a new account */
  constructor(service: FuzzedService, onNew: (actor: Actor, identity: Identity) => void) {
    this.#service = service
    this.#onNew = onNew
  }

  identityOf = (actor: Actor): Identity => this.#known.get(actor) ?? { facts: {} }

  /** Registers an actor, follows the link and logs in. */
  async add(actor: Actor): Promise<void> {
    const email = createAddress()
    const password = createPassword()
    await this.#post('/auth/account/register/password', { email, password, termsAccepted: true })
    await this.#post('/auth/account/register/activate', { token: await this.#mailedToken(email) })
    await this.#logIn(actor, email, password)
  }

  /** Lets an invited administrator choose a password. */
  async addInvited(actor: Actor, email: string): Promise<void> {
    const token = await this.#mailedToken(email)
    const password = createPassword()
    await this.#post('/auth/account/password/update', { token, newPassword: password, termsAccepted: true })
    await this.#logIn(actor, email, password)
  }

  /**
   * Logs an actor in again after the session has ended, or registers a new account if the old one is gone.
   */
  renew(actor: Actor, anew = false): Promise<void> {
    const running = this.#renewals.get(actor)
    if (running) return running
    const { email = '', password = '' } = this.identityOf(actor).facts
    const loggedIn = anew ? Promise.reject(new Error('anew')) : this.#logIn(actor, email, password)
    // The victim must keep the account: nobody can have deleted it, and a new one would not own the planted
    // data.
    const back = actor === 'victim' ? loggedIn : loggedIn.catch(() => this.add(actor))
    const renewal = back.finally(() => this.#renewals.delete(actor))
    this.#renewals.set(actor, renewal)
    return renewal
  }

  async #logIn(actor: Actor, email: string, password: string): Promise<void> {
    const grant = (await this.#post('/auth/login/password', { email, password })) as TokenGrant
    const { authToken, sessionToken, refreshToken, mvUid } = grant
    const former = this.identityOf(actor).facts
    const isNew = former.mvUid !== mvUid
    const facts = { ...(isNew ? {} : former), mvUid, email, password, refreshToken }
    const identity = { authToken, sessionToken, facts }
    this.#known.set(actor, identity)
    if (!isNew) return
    const { items = [] } = (await this.#call('GET', '/ehr', authToken)) as { items?: { id: string }[] }
    if (items[0]) Object.assign(facts, { ehrId: items[0].id })
    this.#onNew(actor, identity)
  }

  #post = (path: string, body: object): Promise<unknown> => this.#call('POST', path, undefined, body)

  async #call(method: string, path: string, token?: string, body?: object): Promise<unknown> {
    const answer = await fetch(this.#service.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  async #mailedToken(address: string): Promise<string> {
    const { mails } = this.#service
    for (let attempt = 0; attempt < 400; attempt++) {
      const position = mails.findIndex((mail) => mail.includes(address))
      if (position >= 0) {
        const [mail = ''] = mails.splice(position, 1)
        mails.splice(0, mails.length - MAX_MAILS)
        const link = /https?:\/\/\S+/.exec((await PostalMime.parse(mail)).text ?? '')?.[0] ?? ''
        return new URL(link).searchParams.get('token') ?? ''
      }
      await sleep(25)
    }
    throw new Error(`no mail to ${address}`)
  }
}
