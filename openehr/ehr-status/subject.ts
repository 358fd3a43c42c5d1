import { SYSTEM_ID } from '../../records/compositions/composition-record.ts'
import { valueAt } from '../compositions/read-composition.ts'
import type { RmObject } from '../rm/canonical-json.ts'

/** The subject of a status, as other systems name people. */
export interface NamedSubject {
  id: string
  namespace: string
}

export function subjectOfStatus(status: RmObject | undefined): NamedSubject | undefined {
  const id = valueAt(status, 'subject', 'external_ref', 'id', 'value')
  const namespace = valueAt(status, 'subject', 'external_ref', 'namespace')
  return typeof id === 'string' ? { id, namespace: String(namespace ?? '') } : undefined
}

/**
 * The subject id of an EHR for a subject of a namespace. Ids of our own namespace are those of users. The form of
 * all others differs from a user id, so that they cannot name a user.
 */
export const subjectIdOf = ({ id, namespace }: NamedSubject): string =>
  namespace === SYSTEM_ID ? id : `${namespace}::${id}`

/** Whether a status names the subject of its EHR, or nobody. */
export function namesSubject(status: RmObject | undefined, subjectId: string): boolean {
  const subject = subjectOfStatus(status)
  return subject === undefined || subject.id === subjectId || subjectIdOf(subject) === subjectId
}
