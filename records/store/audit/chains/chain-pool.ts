import { Queue } from '../../batching/queue.ts'
import { type AuditEntry, type AuditedAccess, type ChainHead, EMPTY_HEAD, linkEntries } from './chain.ts'

/** A chain, held by one writer at a time. */
export interface AuditChain {
  chain: string
  /** Appends accesses to the chain. The new head counts only once the chain is released as written. */
  link(accesses: readonly AuditedAccess[], at: Date): AuditEntry[]
}

export type ChainPool = ReturnType<typeof createChainPool>

/** Further concurrent writers wait for a chain, which is held only at the end of a transaction. */
const MAX_CHAINS = 64

/**
 * The chains of one instance. A writer acquires a chain, appends, and releases it once the outcome is known.
 * So each chain is written in order and without gaps, and writers do not wait for each other. A chain whose
 * last write is in doubt is never used again.
 */
export function createChainPool(instance: number, key: string) {
  const heads = new Map<string, ChainHead>()
  const pendingHeads = new Map<AuditChain, ChainHead>()
  const free: AuditChain[] = []
  const waiting = new Queue<{ resolve(chain: AuditChain): void; reject(reason: unknown): void }>()
  let chainCount = 0
  let usable = 0

  const open = (): AuditChain => {
    const chain = `${instance}-${chainCount++}`
    usable += 1
    const auditChain: AuditChain = {
      chain,
      link(accesses, at) {
        const { entries, head } = linkEntries(key, chain, heads.get(chain) ?? EMPTY_HEAD, accesses, at)
        pendingHeads.set(auditChain, head)
        return entries
      },
    }
    return auditChain
  }
  const pass = (chain: AuditChain): void => {
    const [next] = waiting.take(1)
    if (next) next.resolve(chain)
    else free.push(chain)
  }
  return {
    /** @throws Unavailable when no chain becomes free in time */
    acquire(): Promise<AuditChain> {
      const chain = free.pop() ?? (usable < MAX_CHAINS ? open() : undefined)
      return chain
        ? Promise.resolve(chain)
        : new Promise((resolve, reject) => waiting.add({ resolve, reject }))
    },
    release(chain: AuditChain, outcome: 'written' | 'not written' | 'in doubt') {
      const head = pendingHeads.get(chain)
      pendingHeads.delete(chain)
      if (head && outcome === 'written') heads.set(chain.chain, head)
      if (outcome !== 'in doubt') return pass(chain)
      usable -= 1
      if (waiting.length > 0) pass(open())
    },
    /** The heads of all chains with entries, as known to be on disk. */
    heads: () => [...heads].map(([chain, head]) => ({ chain, ...head })),
  }
}
