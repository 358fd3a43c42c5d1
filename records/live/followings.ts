import { ServiceError } from '../../schemas/errors.ts'
import type { Sessions } from '../accounts/login/sessions.ts'
import { type Loop, periodically } from '../store/batching/periodically.ts'
import { type Caller, isPermitted } from '../store/documents/caller.ts'
import type { Records } from '../store/writing/transaction.ts'
import type { ChangedRecord, Happening } from './happenings.ts'
import { type Position, positionOf, positionText } from './log.ts'
import { type Noted, Notes } from './noted.ts'
import type { Follower, Tail } from './tail.ts'

/** Who follows: as long as the session lives, and no longer than the token is valid. */
export interface Following {
  caller: Caller
  sid: string
  until: Date
  /** The last position that the caller has heard of; undefined: from now on. */
  from?: string | undefined
}

/** What is followed. */
export interface Followed {
  concerns(change: ChangedRecord): boolean
  /** Whether it is what is followed, when that takes a look at the record. */
  includes?(happening: Happening): boolean
  /** Whether the caller may still follow it; asked again and again. */
  isReachable(caller: Caller): Promise<boolean>
}

/** Where it is told. */
export interface Listener {
  happened(happening: Happening, caller: Caller): Promise<void> | void
  /** Everything up to a position has been told. */
  reached(position: string): void
  /** What came before is not known: the caller has to read anew. */
  reset(): void
  over(): void
}

/** Followings of one account, and in all, on one instance. */
const MOST_OF_ONE = 20
const MOST = 5_000
/** What somebody may not have been told yet. */
const MOST_UNTOLD = 5_000
const LOOK_MS = 1_000
const LOOKS_FOR_ACCESS = 3
const LOOKS_WITHOUT_SIGN = 15

/** Those who follow changes by the path family. */
export class Followings {
  readonly #tail: Tail
  readonly #sessions: Pick<Sessions, 'facts'>
  readonly #notes: Notes
  readonly #open = new Set<OneFollowing>()
  readonly #loop: Loop
  #looks = 0

  constructor(
    records: Records,
    tail: Tail,
    sessions: Pick<Sessions, 'facts'>,
    onFault: (fault: unknown) => void,
  ) {
    this.#tail = tail
    this.#sessions = sessions
    this.#notes = new Notes(records.audit, onFault)
    this.#loop = periodically(LOOK_MS, () => this.#look(), onFault)
  }

  /**
   * Tells what happens, from a position on or from now on.
   * @returns what ends it; the listener is told when it ends by itself
   * @throws TooManyRequests; Unavailable
   */
  async follow(following: Following, followed: Followed, listener: Listener): Promise<() => void> {
    const { userId } = following.caller
    const own = [...this.#open].filter((one) => one.userId === userId).length
    if (own >= MOST_OF_ONE || this.#open.size >= MOST)
      throw new ServiceError('TooManyRequests', { retryAfter: 60, detail: 'Too many changes are followed.' })
    const one = new OneFollowing(following, followed, listener, this.#sessions, this.#notes)
    this.#open.add(one)
    one.onEnd = () => {
      this.#open.delete(one)
      this.#tail.leave(one)
    }
    try {
      one.begin(this.#tail, await this.#tail.follow(one))
    } catch (error) {
      one.end()
      throw error
    }
    return () => one.end()
  }

  async end(): Promise<void> {
    await this.#loop.end()
    for (const one of this.#open) one.end()
    await this.#notes.kept()
  }

  /** Ends what may not go on, and shows the others that it does. */
  async #look(): Promise<void> {
    this.#looks += 1
    const forAccess = this.#looks % LOOKS_FOR_ACCESS === 0
    const withSign = this.#looks % LOOKS_WITHOUT_SIGN === 0
    await Promise.all([...this.#open].map((one) => one.look(forAccess, withSign)))
  }
}

class OneFollowing implements Follower {
  readonly #followed: Followed
  readonly #listener: Listener
  readonly #sessions: Pick<Sessions, 'facts'>
  readonly #notes: Notes
  readonly #noted: Noted
  readonly #following: Following
  #caller: Caller
  #position: Position | undefined
  #told: Promise<void> = Promise.resolve()
  #untold = 0
  #ended = false
  onEnd: () => void = () => {}

  constructor(
    following: Following,
    followed: Followed,
    listener: Listener,
    sessions: Pick<Sessions, 'facts'>,
    notes: Notes,
  ) {
    this.#following = following
    this.#caller = following.caller
    this.#followed = followed
    this.#listener = listener
    this.#sessions = sessions
    this.#notes = notes
    this.#noted = notes.begin()
  }

  get userId(): string {
    return this.#caller.userId
  }

  concerns(change: ChangedRecord): boolean {
    return this.#followed.concerns(change)
  }

  /** What was missed comes before what the tail tells from now on. */
  begin(tail: Tail, position: Position): void {
    const { from } = this.#following
    const known = from === undefined ? position : positionOf(from)
    this.#inTurn(async () => {
      const missed = known && (await tail.between(known, position, (change) => this.concerns(change)))
      if (!missed) this.#listener.reset()
      else for await (const happenings of missed) await this.#tell(happenings)
      this.#position = position
      this.#listener.reached(positionText(position))
    })
  }

  tell(happenings: readonly Happening[], position: Position): void {
    if (happenings.length === 0 && this.#untold === 0) {
      this.#position = position
      return
    }
    this.#untold += happenings.length
    if (this.#untold > MOST_UNTOLD) this.end()
    else
      this.#inTurn(async () => {
        await this.#tell(happenings)
        this.#position = position
        this.#untold -= happenings.length
      })
  }

  async look(forAccess: boolean, withSign: boolean): Promise<void> {
    try {
      await this.#noted.close()
      if (!(await this.#isAllowed(forAccess))) return this.end()
    } catch {
      // Whoever cannot be asked about may not go on.
      return this.end()
    }
    if (withSign && this.#position && this.#untold === 0) this.#listener.reached(positionText(this.#position))
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.onEnd()
    this.#listener.over()
    this.#notes.end(this.#noted, this.#told)
  }

  async #isAllowed(forAccess: boolean): Promise<boolean> {
    const { sid, until } = this.#following
    const facts = await this.#sessions.facts(sid)
    if (!facts || until.getTime() <= Date.now()) return false
    this.#caller = { ...this.#caller, roles: facts.roles }
    return !forAccess || this.#followed.isReachable(this.#caller)
  }

  async #tell(happenings: readonly Happening[]): Promise<void> {
    if (this.#ended) return
    if (!(await this.#isAllowed(false))) return this.end()
    const { includes = () => true } = this.#followed
    const visible = happenings.filter(
      (one) => isPermitted((one.after ?? one.before)?._rperm, this.#caller) && includes(one),
    )
    await this.#noted.note(this.#caller, visible)
    for (const one of visible) if (!this.#ended) await this.#listener.happened(one, this.#caller)
  }

  #inTurn(work: () => Promise<void>): void {
    this.#told = this.#told.then(work).catch(() => this.end())
  }
}
