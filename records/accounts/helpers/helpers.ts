import type { IndexDescription } from 'mongodb'
import type { Helper, HelperTerms } from '../../../schemas/accounts/helper.ts'
import { HELPER_ACTS } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import { emitRolesChangedAtEnd } from '../../ehrs/rights/roles.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { SavedRecord } from '../../store/documents/parse-format.ts'
import type { Page, PageRequest } from '../../store/reading/pages.ts'
import { Store } from '../../store/store.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import type { SendMail } from '../user/mails.ts'
import { ACCOUNT_STATE_FILTERS, lockAccount, usersOf } from '../user/user.ts'
import {
  agreementIdOf,
  endHelperSessions,
  HELPER_AGREEMENTS,
  type HelperAgreementFields,
  HelperAgreementRecord,
  isInForce,
  type Parties,
} from './helper-agreement.ts'

export type Agreement = SavedRecord<HelperAgreementFields>

/** An agreement as one of both sees it. */
export interface AgreementView {
  helper: Helper
  version: number
}

/** The side of an agreement on which the caller is. */
type Side = 'person' | 'helper'

/** Finds the names of users. */
interface Names {
  namesOf(mvUids: readonly string[]): Promise<ReadonlyMap<string, string>>
}

/** Agreements that one user acts for another. @see docs/decisions/helpers.md */
export class Helpers {
  readonly #context: StoreContext
  readonly #names: Names
  readonly #sendMail: SendMail
  readonly #store

  constructor(context: StoreContext, names: Names, sendMail: SendMail) {
    this.#context = context
    this.#names = names
    this.#sendMail = sendMail
    this.#store = new Store(context, {
      collection: HELPER_AGREEMENTS,
      schema: HelperAgreementRecord,
      lists: {
        person: { requiredFields: ['mvUid'], sort: 'createdAt', order: 'asc' },
        helper: { requiredFields: ['helperId'], sort: 'createdAt', order: 'asc' },
      },
    })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** Lists the caller's agreements, oldest first. */
  async list(caller: Caller, side: Side, page: PageRequest): Promise<Page<AgreementView>> {
    const where = side === 'person' ? { mvUid: caller.userId } : { helperId: caller.userId }
    const agreementPage = await this.#store.list(caller, side, { where, ...page })
    return { ...agreementPage, items: await this.#toViews(side, agreementPage.items) }
  }

  /** @throws NotFound */
  async get(caller: Caller, side: Side, other: string): Promise<AgreementView> {
    return this.#toView(side, await this.#store.get(caller, keyOf(caller, side, other)))
  }

  /**
   * Invites a user to act for the caller, who gets a mail. An agreement that has not ended gets these terms at once.
   * @throws RuleViolated
   */
  invite(caller: Caller, helperId: string, terms: HelperTerms): Promise<AgreementView> {
    const { userId: mvUid } = caller
    const now = this.#context.clock()
    const { relation, from = now.toISOString(), until } = terms
    const acts = HELPER_ACTS.filter((act) => act === 'READ' || terms.acts.includes(act))
    const agreement = { mvUid, helperId, relation, acts, from, until }
    const { id } = keyOf(caller, 'person', helperId)
    return this.#change('person', async (tx) => {
      await lockAccount(this.#context, tx, helperId)
      const helper = { _id: helperId, ...ACCOUNT_STATE_FILTERS.ACTIVE }
      const user = await usersOf(this.#context.db).findOne(helper, { session: tx.session })
      requireNoViolations(invitationViolations(agreement, user !== null, now))
      const storedAgreement = await this.#store.find(caller, { id }, { tx })
      const isNew = !storedAgreement || this.#stateOf(storedAgreement) === 'ENDED'
      if (isNew) await this.#mailInvitation(helperId, tx)
      if (isNew || new Date(from) > now) await endHelperSessions(this.#context.db, [id], tx.session)
      const state = isNew ? 'INVITED' : storedAgreement.state
      const permissions = { read: [mvUid, helperId], write: [mvUid, helperId] }
      return storedAgreement
        ? this.#store.update(caller, { id }, () => ({ ...agreement, state }), { tx })
        : this.#store.create(caller, { ...agreement, state }, permissions, { tx, id })
    })
  }

  /** The mail names nobody: only who logs in as this user learns who asks. */
  #mailInvitation(mvUid: string, { session }: Transaction): Promise<void> {
    return this.#sendMail(
      { to: { mvUid }, template: 'helper-invitation', language: undefined, data: {} },
      session,
    )
  }

  /** Accepts an invitation; a repeated call changes nothing. @throws NotFound; Conflict once it has ended */
  accept(caller: Caller, personId: string): Promise<AgreementView> {
    const acceptAgreement = (current: Agreement) => {
      if (this.#stateOf(current) === 'ENDED')
        throw new ServiceError('Conflict', { detail: 'The invitation has ended.' })
      return { ...current, state: 'ACTIVE' as const }
    }
    const key = keyOf(caller, 'helper', personId)
    return this.#change('helper', (tx) =>
      this.#store.update(caller, key, acceptAgreement, { tx, skipUnchanged: true }),
    )
  }

  /** Ends an agreement, or an invitation. @throws NotFound; PreconditionFailed */
  async end(caller: Caller, side: Side, other: string, expected: ExpectedVersions): Promise<void> {
    const endAgreement = (current: Agreement) => ({ ...current, state: 'ENDED' as const })
    const key = keyOf(caller, side, other)
    await this.#change(side, async (tx) => {
      const options = { tx, expected, skipUnchanged: true }
      const agreement = await this.#store.update(caller, key, endAgreement, options)
      await endHelperSessions(this.#context.db, [key.id], tx.session)
      return agreement
    })
  }

  /** Finds the agreement under which the caller may act for a person now. @throws NotFound */
  async requireInForce(caller: Caller, personId: string): Promise<Agreement> {
    const agreement = await this.#store.get(caller, keyOf(caller, 'helper', personId))
    if (!isInForce(agreement, this.#context.clock())) throw new ServiceError('NotFound')
    return agreement
  }

  /** Sessions look their agreement up again when the rights of users have changed. */
  async #change(side: Side, work: (tx: Transaction) => Promise<Agreement>): Promise<AgreementView> {
    const agreement = await runStoreTransaction(this.#context, (tx) => {
      emitRolesChangedAtEnd(this.#context, tx.session)
      return work(tx)
    })
    return this.#toView(side, agreement)
  }

  #stateOf({ state, until }: Agreement): Agreement['state'] {
    return new Date(until) <= this.#context.clock() ? 'ENDED' : state
  }

  async #toView(side: Side, agreement: Agreement): Promise<AgreementView> {
    return (await this.#toViews(side, [agreement]))[0] as AgreementView
  }

  /** The person's name shows until the agreement ends. A helper's name shows once they have accepted. */
  async #toViews(side: Side, agreements: readonly Agreement[]): Promise<AgreementView[]> {
    const counterpartIds = agreements.map((one) => (side === 'person' ? one.helperId : one.mvUid))
    const states = agreements.map((one) => this.#stateOf(one))
    const namedIds = counterpartIds.filter(
      (_, i) => states[i] === 'ACTIVE' || (side === 'helper' && states[i] === 'INVITED'),
    )
    const names = await this.#names.namesOf(namedIds)
    return agreements.map(({ relation, acts, from, until, createdAt, updatedAt, version }, i) => {
      const [mvUid = '', state = 'ENDED'] = [counterpartIds[i], states[i]]
      const terms = { relation, acts, from, until }
      return {
        helper: { mvUid, name: names.get(mvUid) ?? null, ...terms, state, createdAt, updatedAt },
        version,
      }
    })
  }
}

const keyOf = ({ userId }: Caller, side: Side, other: string) => ({
  id: agreementIdOf(
    side === 'person' ? { mvUid: userId, helperId: other } : { mvUid: other, helperId: userId },
  ),
})

function invitationViolations(
  { mvUid, helperId, from, until }: Parties & { from: string; until: string },
  isUser: boolean,
  now: Date,
): Violation[] {
  const end = new Date(until)
  const isInOrder = end > now && end > new Date(from)
  return [
    ...(isUser && helperId !== mvUid
      ? []
      : [{ path: 'mvUid', code: 'user', message: 'must be another user of this service' }]),
    ...(isInOrder
      ? []
      : [{ path: 'until', code: 'range', message: 'must be in the future, and later than from' }]),
  ]
}
