import { type Static, Type } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import {
  type RelationCreate,
  type RelationUpdate,
  relationFields,
} from '../../../schemas/profiles/relation.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { SavedRecord } from '../../store/documents/parse-format.ts'
import type { Page, PageRequest } from '../../store/reading/pages.ts'
import { Store } from '../../store/store.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import { createOrFindExisting } from '../../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import { requirePossibleBirthDate } from '../person/birth-date.ts'
import { normaliseBody } from '../storage/normalise-body.ts'
import { type Owner, ownedRecordId, privatePermissions } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'
import { assignRelationNumber } from '../storage/profile-lock.ts'

const relationSchema = Type.Object(relationFields)
const StoredRelation = Type.Object({ ...relationFields, mvUid: Type.String(), relationId: Type.Integer() })
type StoredRelation = Static<typeof StoredRelation>

const RELATION_ID_PREFIX = 'party:relation:'

/** The number in `123` or `party:relation:123`. */
export const relationNumberOf = (id: string): number => Number(id.replace(RELATION_ID_PREFIX, ''))

/** A relation's id in the form that clients see. */
export const relationIdOf = (number: number): string => `${RELATION_ID_PREFIX}${number}`

/** A person's relations, numbered from 1 for each person. */
export class Relations {
  readonly #context: StoreContext
  readonly store

  constructor(context: StoreContext) {
    this.#context = context
    this.store = new Store(context, {
      collection: PROFILE_COLLECTIONS.relation,
      schema: StoredRelation,
      lists: { own: { requiredFields: ['mvUid'], sort: 'relationId', order: 'asc' } },
      indexes: [{ key: { mvUid: 1, relationId: 1 }, name: 'number', unique: true }],
    })
  }

  list(caller: Caller, mvUid: string, page: PageRequest): Promise<Page<SavedRecord<StoredRelation>>> {
    return this.store.list(caller, 'own', { where: { mvUid }, ...page })
  }

  /** @throws NotFound */
  async get(caller: Caller, mvUid: string, relationId: number, tx?: Transaction) {
    const where = { mvUid, relationId }
    const { items } = await this.store.list(caller, 'own', { where, limit: 1 }, { tx })
    if (items[0] === undefined) throw new ServiceError('NotFound')
    return items[0]
  }

  async hasRelation(caller: Caller, mvUid: string, relationId: number): Promise<boolean> {
    const { items } = await this.store.list(caller, 'own', { where: { mvUid, relationId }, limit: 1 })
    return items.length > 0
  }

  /** @throws NotFound when the owner is a relation that does not exist */
  async requireOwner(caller: Caller, { mvUid, relationId }: Owner, tx?: Transaction): Promise<void> {
    if (relationId !== null) await this.get(caller, mvUid, relationId, tx)
  }

  /** @throws Conflict when the id in the input is taken; RuleViolated */
  create(caller: Caller, mvUid: string, { id: requestedId, ...input }: RelationCreate, newId: string) {
    requirePossibleBirthDate(input)
    const id = ownedRecordId(mvUid, newId)
    const number = typeof requestedId === 'string' ? relationNumberOf(requestedId) : undefined
    return createOrFindExisting(
      () =>
        runStoreTransaction(this.#context, async (tx) => {
          const relationId = await assignRelationNumber(this.#context, tx, mvUid, number)
          const relation = { ...normaliseBody(relationSchema, input), mvUid, relationId }
          return this.store.create(caller, relation, privatePermissions(mvUid), { tx, id })
        }),
      () => this.store.get(caller, { id }),
    )
  }

  /** @throws NotFound; PreconditionFailed; RuleViolated */
  async update(
    caller: Caller,
    mvUid: string,
    relationId: number,
    input: Omit<RelationUpdate, 'id'>,
    expected: ExpectedVersions,
  ) {
    const { id } = await this.get(caller, mvUid, relationId)
    requirePossibleBirthDate(input)
    const next = { ...normaliseBody(relationSchema, input), mvUid, relationId }
    return this.store.update(caller, { id, mvUid }, () => next, { expected })
  }
}
