import { type Static, Type } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import { type RelationCreate, type RelationUpdate, relationFields } from '../../../schemas/relation.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { collections } from '../owner/collections.ts'
import { relationNumber } from '../owner/ledger.ts'
import { normalised } from '../owner/normalise.ts'
import { belongingId, type Owner, privateTo } from '../owner/owner.ts'

const fields = Type.Object(relationFields)
const StoredRelation = Type.Object({ ...relationFields, mvUid: Type.String(), relationId: Type.Integer() })
type StoredRelation = Static<typeof StoredRelation>

const PREFIX = 'party:relation:'

/** `123` or `party:relation:123` as a number. */
export const relationNumberOf = (id: string): number => Number(id.replace(PREFIX, ''))

/** A relation's id as clients see it. */
export const relationIdOf = (number: number): string => `${PREFIX}${number}`

/** A person's relations, numbered for each person from 1. */
export class Relations {
  readonly #records: Records
  readonly store

  constructor(records: Records) {
    this.#records = records
    this.store = new Store(records, {
      collection: collections.relation,
      schema: StoredRelation,
      lists: { own: { by: ['mvUid'], sort: 'relationId', order: 'asc' } },
      indexes: [{ key: { mvUid: 1, relationId: 1 }, name: 'number', unique: true }],
    })
  }

  list(caller: Caller, mvUid: string, page: PageOf): Promise<Page<Saved<StoredRelation>>> {
    return this.store.list(caller, 'own', { where: { mvUid }, ...page })
  }

  /** @throws NotFound */
  async get(caller: Caller, mvUid: string, relationId: number, tx?: Transaction) {
    const where = { mvUid, relationId }
    const { items } = await this.store.list(caller, 'own', { where, limit: 1 }, { tx })
    if (items[0] === undefined) throw new ServiceError('NotFound')
    return items[0]
  }

  async has(caller: Caller, mvUid: string, relationId: number): Promise<boolean> {
    const { items } = await this.store.list(caller, 'own', { where: { mvUid, relationId }, limit: 1 })
    return items.length > 0
  }

  /** @throws NotFound for an owner that is a relation, and there is none */
  async require(caller: Caller, { mvUid, relationId }: Owner, tx?: Transaction): Promise<void> {
    if (relationId !== null) await this.get(caller, mvUid, relationId, tx)
  }

  /** @throws Conflict when the id that the input wants is taken */
  create(caller: Caller, mvUid: string, { id: wanted, ...input }: RelationCreate, newId: string) {
    const id = belongingId(mvUid, newId)
    const number = typeof wanted === 'string' ? relationNumberOf(wanted) : undefined
    return unlessMade(
      () =>
        inTransaction(this.#records, async (tx) => {
          const relationId = await relationNumber(this.#records, tx, mvUid, number)
          const relation = { ...normalised(fields, input), mvUid, relationId }
          return this.store.create(caller, relation, privateTo(mvUid), { tx, id })
        }),
      () => this.store.get(caller, { id }),
    )
  }

  /** @throws NotFound; PreconditionFailed */
  async update(
    caller: Caller,
    mvUid: string,
    relationId: number,
    input: Omit<RelationUpdate, 'id'>,
    expected: Expected,
  ) {
    const { id } = await this.get(caller, mvUid, relationId)
    const next = { ...normalised(fields, input), mvUid, relationId }
    return this.store.update(caller, { id, mvUid }, () => next, { expected })
  }
}
