import type { Db } from 'mongodb'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { type Change, changesOfEach } from '../../../store/writing/history.ts'
import { SYSTEM_ID, versionUid } from '../../composition-record.ts'
import type { RmObject } from '../../rm/canonical.ts'
import type { Document } from '../evaluation/forest.ts'
import type { Plan } from '../planner.ts'

/** What an object of the model is made of in one version of a record. */
export type ObjectOf = (version: ParseDocument) => RmObject | undefined

/** What is found of an EHR, to be looked at when it is its turn. */
export interface Found {
  ehrId: string
  documents(): Document[]
}

/** Records of a collection, as they are now. */
interface Records {
  collection: string
  of: readonly ParseDocument[]
  objectOf: ObjectOf
}

const ehrIdOf = ({ ehrId }: ParseDocument): string => String(ehrId)

/** Of some records the latest version, or all of them: where they are asked for each within its ORIGINAL_VERSION. */
export async function* foundIn(
  db: Db,
  { versions, audited }: Pick<Plan, 'versions' | 'audited'>,
  { collection, of, objectOf }: Records,
): AsyncGenerator<Found[]> {
  if (!audited) {
    yield of.map((now) => ({
      ehrId: ehrIdOf(now),
      documents: () => {
        const object = objectOf(now)
        return object ? [{ record: now._id, object, latest: true }] : []
      },
    }))
    return
  }
  for (const some of versions === 'all' ? inSteps(of) : [of]) {
    const keys = some.map((now) => ({ collection, id: now._id, ehrId: ehrIdOf(now) }))
    const fields = [
      'version',
      'at',
      'userId',
      'action',
      ...(versions === 'all' ? ['before' as const] : []),
    ] as const
    const changes = await changesOfEach(db, keys, MOST_VERSIONS, fields)
    yield some.map((now) => ({
      ehrId: ehrIdOf(now),
      documents: () => versionsIn(now, changes.get(now._id) ?? [], objectOf),
    }))
  }
}

/** Versions that are read at once; one record's are always. */
const STEP = 200

function inSteps(records: readonly ParseDocument[]): ParseDocument[][] {
  const steps: ParseDocument[][] = []
  let room = 0
  for (const record of records) {
    if (record.version > room) {
      steps.push([])
      room = STEP
    }
    steps.at(-1)?.push(record)
    room -= record.version
  }
  return steps
}

type Made = Pick<Change, 'version' | 'at' | 'userId' | 'action'> & Partial<Pick<Change, 'before'>>

function versionsIn(now: ParseDocument, changes: readonly Made[], objectOf: ObjectOf): Document[] {
  const made = new Map(changes.map((change) => [change.version, change]))
  const former = changes.flatMap(({ before }) => before ?? [])
  return [...former, now].map((version) => ({
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

function originalVersion(document: ParseDocument, made: Made | undefined): RmObject {
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
