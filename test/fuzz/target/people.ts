import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import PostalMime from 'postal-mime'
import type { Grant } from '../../../schemas/login.ts'
import type { Actor, Identity } from '../generator/world/ask.ts'
import type { FuzzedService } from './fuzzed-service.ts'

const newPassword = (): string => `correct horse ${randomUUID()}`

/** Others write mails, too: only the newest are kept. */
const mostMails = 100

export const newAddress = (): string => `user-${randomUUID()}@example.org`

/** Those who ask: each with an account of their own, except nobody. */
export class People {
  readonly #service: FuzzedService
  readonly #known = new Map<Actor, Identity>()
  readonly #onNew: (actor: Actor, identity: Identity) => void
  readonly #renewals = new Map<Actor, Promise<void>>()

  /** @param onNew hears of everybody who has a new account */
  constructor(service: FuzzedService, onNew: (actor: Actor, identity: Identity) => void) {
    this.#service = service
    this.#onNew = onNew
  }

  identityOf = (actor: Actor): Identity => this.#known.get(actor) ?? { facts: {} }

  /** Somebody who registers, follows the link and logs in. */
  async add(actor: Actor): Promise<void> {
    const email = newAddress()
    const password = newPassword()
    await this.#post('/auth/account/register/password', { email, password, termsAccepted: true })
    await this.#post('/auth/account/register/activate', { token: await this.#mailedToken(email) })
    await this.#logIn(actor, email, password)
  }

  /** An administrator who was invited, and chooses a password. */
  async addInvited(actor: Actor, email: string): Promise<void> {
    const token = await this.#mailedToken(email)
    const password = newPassword()
    await this.#post('/auth/account/password/update', { token, newPassword: password, termsAccepted: true })
    await this.#logIn(actor, email, password)
  }

  /** Lets somebody in again whose session is over: by a login, or as somebody new when there is no account any more. */
  renew(actor: Actor, anew = false): Promise<void> {
    const running = this.#renewals.get(actor)
    if (running) return running
    const { email = '', password = '' } = this.identityOf(actor).facts
    const loggedIn = anew ? Promise.reject(new Error('anew')) : this.#logIn(actor, email, password)
    // Nobody can have taken the victim's account, or what they wrote would be theirs no more.
    const back = actor === 'victim' ? loggedIn : loggedIn.catch(() => this.add(actor))
    const renewal = back.finally(() => this.#renewals.delete(actor))
    this.#renewals.set(actor, renewal)
    return renewal
  }

  async #logIn(actor: Actor, email: string, password: string): Promise<void> {
    const grant = (await this.#post('/auth/login/password', { email, password })) as Grant
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
      const at = mails.findIndex((mail) => mail.includes(address))
      if (at >= 0) {
        const [mail = ''] = mails.splice(at, 1)
        mails.splice(0, mails.length - mostMails)
        const link = /https?:\/\/\S+/.exec((await PostalMime.parse(mail)).text ?? '')?.[0] ?? ''
        return new URL(link).searchParams.get('token') ?? ''
      }
      await sleep(25)
    }
    throw new Error(`no mail to ${address}`)
  }
}
