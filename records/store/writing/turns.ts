import type { ClientSession, Collection } from 'mongodb'
import { inTime, type Signal, signal } from '../batching/waiting.ts'
import type { Database } from '../documents/database.ts'
import { unavailable } from '../documents/outage.ts'

/** A transaction that takes turns. */
export interface Taking {
  session: ClientSession
  turn: Turn
  /** The EHRs that it has for itself. */
  alone: Set<string>
}

/** Of the transactions that take the same turn, one goes on and the others are repeated on what it left. */
async function takeTurns(
  records: Pick<Database, 'db'>,
  { session }: Pick<Taking, 'session'>,
  names: readonly string[],
): Promise<void> {
  const turns = [...new Set(names)].map((_id) => ({
    updateOne: { filter: { _id }, update: { $inc: { turns: 1 } }, upsert: true },
  }))
  if (turns.length > 0) await turnsOf(records).bulkWrite(turns, { session, ordered: false })
}

/** So many transactions add to one EHR at the same time. */
const EHR_LANES = 4

const lanesOf = (ehrId: string): string[] =>
  Array.from({ length: EHR_LANES }, (_, lane) => ehrLane(ehrId, lane))

const ehrLane = (ehrId: string, lane: number): string => (lane === 0 ? ehrId : `${ehrId}/${lane}`)

/**
 * Has an EHR for oneself, to close or to remove something there, or to count what is there: whoever adds to it has one
 * of its lanes, whoever has it alone all of them. So nothing new is in a plan that was closed at the same instant.
 * @param of EHRs, mostly
 */
export async function takeAlone(
  records: Pick<Database, 'db'>,
  tx: Pick<Taking, 'session'> & Partial<Taking>,
  of: readonly string[],
): Promise<void> {
  const fresh = of.filter((one) => !tx.alone?.has(one))
  for (const one of fresh) {
    tx.turn?.hold(one)
    tx.turn?.meet(one)
  }
  await takeTurns(records, tx, fresh.flatMap(lanesOf))
  for (const one of fresh) tx.alone?.add(one)
}

/** For what adds to these EHRs, made with these records: {@link takeAlone}. */
export async function takeToAdd(
  records: Pick<Database, 'db'>,
  tx: Taking,
  ehrIds: readonly string[],
  held: readonly Held[],
): Promise<void> {
  const { lane } = tx.turn
  const fresh = ehrIds
    .filter((ehrId) => !tx.alone.has(ehrId))
    .map((ehrId) => ehrLane(ehrId, lane % EHR_LANES))
  await takeTurns(records, tx, [...fresh, ...held.map((one) => turnIn(one, lane % LANES))])
}

/** Forgets the turns of an EHR that is gone for good. */
export const forgetTurns = async (database: Pick<Database, 'db'>, ehrId: string): Promise<void> => {
  await turnsOf(database).deleteMany({ _id: { $in: lanesOf(ehrId) } })
}

/** A name that no Parse class can have: the class family never reaches it. */
export const turnsOf = ({ db }: Pick<Database, 'db'>): Collection<{ _id: string; turns: number }> =>
  db.collection('ehr.turns')

/** What something is made with: it is there as long as that is being made. */
export interface Held {
  collection: string
  id: string
}

/** So many make something with the same record at once without meeting. */
const LANES = 16

const turnIn = ({ collection, id }: Held, lane: number): string => `${collection}/${id}/${lane}`

/** Of the transactions that make something with it, and the one that removes it, those that meet are repeated. */
export const takeTurnsToRemove = (
  records: Pick<Database, 'db'>,
  tx: Pick<Taking, 'session'>,
  held: Held,
): Promise<void> =>
  takeTurns(
    records,
    tx,
    Array.from({ length: LANES }, (_, lane) => turnIn(held, lane)),
  )

/** What one transaction has of the turns of this process, however often it is repeated. */
export interface Turn {
  /** No other one of this process has it. */
  readonly lane: number
  /** Has those wait who would add to it here, until this is over: they would come in between again and again. */
  hold(ehrId: string): void
  /** It meets others over this, who take the same turn: {@link lineUp} */
  meet(name: string): void
  /**
   * Goes on when those of this process are done who lined up before for what it meets others over: they would be repeated,
   * all but one of them, in vain. A transaction that is repeated does that.
   * @throws Unavailable when it does not come to it
   */
  lineUp(): Promise<void>
  leave(): void
}

interface Hold {
  by: number
  over: Signal
}

/** Who of this process is at what: another process is met in the database. */
export class Turns {
  /** Two processes rarely have the same lanes. */
  readonly #first = Math.floor(Math.random() * LANES)
  readonly #inUse = new Set<number>()
  readonly #held = new Map<string, Hold>()
  readonly #lines = new Lines()

  enter(): Turn {
    let lane = this.#first
    while (this.#inUse.has(lane)) lane++
    this.#inUse.add(lane)
    const own = new Set<string>()
    const met = new Set<string>()
    const places: (() => void)[] = []
    return {
      lane,
      hold: (ehrId) => {
        if (!own.has(ehrId)) this.#hold(ehrId)
        own.add(ehrId)
      },
      meet: (name) => void met.add(name),
      lineUp: async () => {
        if (places.length > 0) return
        // Of two that wait for the same, neither waits for the other one.
        for (const name of [...met].sort()) places.push(await this.#lines.place(name))
      },
      leave: () => {
        this.#inUse.delete(lane)
        for (const ehrId of own) this.#release(ehrId)
        for (const leavePlace of places) leavePlace()
      },
    }
  }

  /** Waits until nobody here has the EHR alone, as long as that may take. */
  async free(ehrId: string): Promise<void> {
    const held = this.#held.get(ehrId)
    if (held) await inTime(held.over.given)
  }

  #hold(ehrId: string): void {
    const held = this.#held.get(ehrId)
    if (held) {
      held.by += 1
      return
    }
    this.#held.set(ehrId, { by: 1, over: signal() })
  }

  #release(ehrId: string): void {
    const held = this.#held.get(ehrId)
    if (!held || --held.by > 0) return
    this.#held.delete(ehrId)
    held.over.give()
  }
}

/** Those who wait for the same, in the order in which they came. */
class Lines {
  /** When the last one in each is done. */
  readonly #last = new Map<string, Promise<void>>()

  /** Waits for those before. @returns what leaves the place; @throws Unavailable when they take too long */
  async place(name: string): Promise<() => void> {
    const before = this.#last.get(name)
    const { given: left, give: leave } = signal()
    const over: Promise<void> = Promise.all([before, left]).then(() => {
      if (this.#last.get(name) === over) this.#last.delete(name)
    })
    this.#last.set(name, over)
    if (before && !(await inTime(before))) {
      leave()
      throw unavailable()
    }
    return leave
  }
}
