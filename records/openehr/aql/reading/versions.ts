import type { Db } from 'mongodb'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { type Change, changesOf, changesWithin } from '../../../store/writing/history.ts'
import { SYSTEM_ID, versionUid } from '../../composition-record.ts'
import type { RmObject } from '../../rm/canonical.ts'
import type { Document } from '../evaluation/forest.ts'

/** A record with all of its versions. */
interface Versioned {
  collection: string
  ehrId: string
  /** As it is now. */
  now: ParseDocument
}

/** What an object of the model is made of in one version of a record. */
export type ObjectOf = (version: ParseDocument) => RmObject | undefined

/** The latest version, or all of them, each within its ORIGINAL_VERSION. */
export async function versionsOf(
  db: Db,
  record: Versioned,
  which: 'latest' | 'all',
  objectOf: ObjectOf,
): Promise<Document[]> {
  const { now, ehrId, collection } = record
  const range = changesWithin({ collection, id: now._id, ehrId })
  const changes = await changesOf(db).find({ _id: range }).sort({ _id: 1 }).limit(MOST_VERSIONS).toArray()
  const made = new Map(changes.map((change) => [change.version, change]))
  const former = changes.flatMap(({ before }) => before ?? [])
  const wanted = which === 'all' ? [...former, now] : [now]
  return wanted.map((version) => ({
    record: now._id,
    object: objectOf(version),
    latest: version === now,
    version: originalVersion(version, made.get(version.version)),
  }))
}

const MOST_VERSIONS = 10_000

const coded = (value: string, code_string: string): RmObject => ({
  _type: 'DV_CODED_TEXT',
  value,
  defining_code: {
    _type: 'CODE_PHRASE',
    terminology_id: { _type: 'TERMINOLOGY_ID', value: 'openehr' },
    code_string,
  },
})

/** What a change does, in the terms of the openEHR terminology. */
const CHANGE_TYPES = {
  create: coded('creation', '249'),
  update: coded('modification', '251'),
  delete: coded('deleted', '523'),
}

function originalVersion(document: ParseDocument, made: Change | undefined): RmObject {
  const { _id: id, version, _updated_at } = document
  const action = made?.action ?? (version === 1 ? 'create' : 'update')
  const uid = (of: number) => ({ _type: 'OBJECT_VERSION_ID', value: versionUid({ id, version: of }) })
  return {
    _type: 'ORIGINAL_VERSION',
    uid: uid(version),
    ...(version > 1 && { preceding_version_uid: uid(version - 1) }),
    commit_audit: {
      _type: 'AUDIT_DETAILS',
      system_id: SYSTEM_ID,
      time_committed: { _type: 'DV_DATE_TIME', value: (made?.at ?? _updated_at).toISOString() },
      change_type: CHANGE_TYPES[action],
      ...(made && { committer: committer(made.userId) }),
    },
    lifecycle_state: action === 'delete' ? coded('deleted', '523') : coded('complete', '532'),
  }
}

const committer = (userId: string): RmObject => ({
  _type: 'PARTY_IDENTIFIED',
  external_ref: {
    _type: 'PARTY_REF',
    namespace: SYSTEM_ID,
    type: 'PERSON',
    id: { _type: 'GENERIC_ID', value: userId, scheme: 'user' },
  },
})
