import { Binary, UUID } from 'mongodb'
import type { AuditEntry } from './chain.ts'

/**
 * The stored form of an entry, which takes fewer bytes: a UUID and the MAC are binary, and the outcome `done` is
 * absent. Entries of earlier releases have the form of `AuditEntry`. The MAC covers the form of `AuditEntry`.
 */
export type StoredAuditEntry = Omit<AuditEntry, 'requestId' | 'mac' | 'outcome'> & {
  requestId: string | UUID | Binary
  mac: string | Binary
  outcome?: AuditEntry['outcome']
}

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function encodeAuditEntry({ outcome, ...entry }: AuditEntry): StoredAuditEntry {
  return {
    ...entry,
    requestId: CANONICAL_UUID.test(entry.requestId) ? new UUID(entry.requestId) : entry.requestId,
    mac: new Binary(Buffer.from(entry.mac, 'base64url')),
    ...(outcome === 'done' ? {} : { outcome }),
  }
}

/** Reads either form. @throws TypeError for an entry without a MAC */
export function decodeAuditEntry({ outcome = 'done', ...entry }: StoredAuditEntry): AuditEntry {
  const { requestId, mac } = entry
  if (mac === undefined) throw new TypeError('The entry has no MAC.')
  return {
    ...entry,
    requestId: requestId instanceof Binary ? requestId.toUUID().toHexString(true) : requestId,
    mac: mac instanceof Binary ? Buffer.from(mac.buffer).toString('base64url') : mac,
    outcome,
  }
}
