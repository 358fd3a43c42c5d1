import { Queue } from '../batching/waiting.ts'
import { type Access, type AuditEntry, type Head, link, START } from './chain.ts'

/** A chain that one writer at a time holds. */
export interface Lane {
  chain: string
  /** Links accesses behind the head; nothing counts until the lane is given back as written. */
  link(accesses: readonly Access[], at: Date): AuditEntry[]
}

/**
 * The chains of one instance. Whoever writes audit entries takes a lane, and gives it back when they are on disk or
 * certainly not; so each chain is written strictly in order, without a gap, and writers do not wait for each other.
 * A lane whose last write ended in doubt is never used again.
 */
export interface Lanes {
  /** @throws Unavailable when none becomes free */
  take(): Promise<Lane>
  give(lane: Lane, outcome: 'written' | 'not written' | 'in doubt'): void
  /** The head of each chain that has entries: what is known to be on disk. */
  heads(): Array<Head & { chain: string }>
}

/** More writers than this at once wait for a lane: it is only held while a transaction ends. */
const MOST = 64

export function openLanes(instance: number, key: string): Lanes {
  const heads = new Map<string, Head>()
  const linked = new Map<Lane, Head>()
  const free: Lane[] = []
  const waiting = new Queue<{ resolve(lane: Lane): void; reject(reason: unknown): void }>()
  let opened = 0
  let usable = 0

  const open = (): Lane => {
    const chain = `${instance}-${opened++}`
    usable += 1
    const lane: Lane = {
      chain,
      link(accesses, at) {
        const { entries, head } = link(key, chain, heads.get(chain) ?? START, accesses, at)
        linked.set(lane, head)
        return entries
      },
    }
    return lane
  }
  const pass = (lane: Lane): void => {
    const [next] = waiting.take(1)
    if (next) next.resolve(lane)
    else free.push(lane)
  }
  return {
    take() {
      const lane = free.pop() ?? (usable < MOST ? open() : undefined)
      return lane ? Promise.resolve(lane) : new Promise((resolve, reject) => waiting.add({ resolve, reject }))
    },
    give(lane, outcome) {
      const head = linked.get(lane)
      linked.delete(lane)
      if (head && outcome === 'written') heads.set(lane.chain, head)
      if (outcome !== 'in doubt') return pass(lane)
      usable -= 1
      if (waiting.length > 0) pass(open())
    },
    heads: () => [...heads].map(([chain, head]) => ({ chain, ...head })),
  }
}
