import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'mongodb'
import { CLASS_OF, type Fields, fieldsOf, nextFields, type Operation, type RecordName } from './model.ts'

/** An operation with its response. */
export interface SentOperation {
  number: number
  /** The text that it writes, which no other operation writes. */
  text: string
  operation: Operation
  /** The version of If-Match. */
  expected: number | undefined
  start: number
  end: number
  /** 0: the response was lost, or it was a 503. */
  status: number
  /** The version that the response shows. */
  version: number | undefined
  fields: Fields | undefined
  refusal: string
}

/** A version of a record; without fields it is a deletion. */
export interface RecordVersion {
  version: number
  fields: Fields | undefined
}

/** The versions of a record, in their order, from its history and its current document. */
export function versionsOf(
  record: RecordName,
  changes: readonly Document[],
  current: Document | null,
): RecordVersion[] {
  const sorted = changes.toSorted((a, b) => a.version - b.version)
  return sorted.map(({ version, action }, i) => {
    const after = action === 'delete' ? null : i + 1 < sorted.length ? sorted[i + 1]?.before : current
    return { version, fields: after ? fieldsOf(CLASS_OF[record], after) : undefined }
  })
}

/** The versions that were current at some moment of an operation, as far as other responses tell. */
interface PossibleVersions {
  from: number
  to: number
}

/**
 * Finds responses and versions that no order of the operations explains. The history is the order; it must agree with
 * the model, with each response, and with real time.
 */
export function findUnexplained(
  versions: readonly RecordVersion[],
  operations: readonly SentOperation[],
): string[] {
  const faults: string[] = []
  const fault = ({ number, operation, status, version }: SentOperation, why: string) =>
    faults.push(`op ${number} (${JSON.stringify(operation)}, ${status}, version ${version}): ${why}`)
  const byVersion = new Map(versions.map((one) => [one.version, one]))
  const last = versions.at(-1)?.version ?? 0
  const firstFields = byVersion.get(1)?.fields as Fields
  for (const [i, { version }] of versions.entries())
    if (version !== i + 1) faults.push(`version ${i + 1} is missing or there twice`)

  const makers = new Map<number, SentOperation[]>()
  const possibleVersions = findPossibleVersions(operations, last)
  for (const one of operations) {
    const { operation, status, version = 0, expected, fields } = one
    if (status === 0) continue
    const possible = possibleVersions.get(one) as PossibleVersions
    const states = versions.slice(possible.from - 1, possible.to)
    if (status < 300 && operation.action === 'remove') {
      const deleted = states.some(
        ({ version: v, fields: now }) => !now && (expected === undefined || v === expected + 1),
      )
      if (!deleted) fault(one, 'was acknowledged, and there is no such deletion')
    } else if (status < 300) {
      const recordVersion = byVersion.get(version)
      if (!recordVersion) fault(one, 'shows a version that there is not')
      else if (fields && !isDeepStrictEqual(recordVersion.fields, fields)) fault(one, 'shows other fields')
      if (version < possible.from || version > possible.to)
        fault(one, `contradicts real time: ${JSON.stringify(possible)}`)
      if (operation.action === 'read') continue
      makers.set(version, [...(makers.get(version) ?? []), one])
      const before = byVersion.get(version - 1)
      if (!before?.fields && operation.action !== 'restore') fault(one, 'changed a deleted record')
      else if (expected !== undefined && expected !== version - 1)
        fault(one, 'overwrote another version than expected')
      const next = nextFields(operation, before?.fields ?? firstFields, firstFields, one.number, one.text)
      if (recordVersion && !isDeepStrictEqual(recordVersion.fields, next))
        fault(one, 'was not applied to the version before')
    } else if (status === 404) {
      if (states.every(({ fields: now }) => now)) fault(one, 'did not find a record that was there')
    } else if (status === 412) {
      if (states.every(({ version: v, fields: now }) => now && v === expected))
        fault(one, 'expected the current version')
    } else if (status !== 429) fault(one, `was refused: ${one.refusal}`)
  }
  for (const [version, several] of makers)
    if (several.length > 1) faults.push(`version ${version} was acknowledged ${several.length} times`)
  faults.push(...findUnaskedVersions(versions, operations, makers), ...countDeletions(versions, operations))
  return faults
}

/**
 * Every version comes from an acknowledged operation, or from one whose response was lost. Such an operation was applied
 * to the version before, and at most once.
 */
function findUnaskedVersions(
  versions: readonly RecordVersion[],
  operations: readonly SentOperation[],
  makers: ReadonlyMap<number, SentOperation[]>,
): string[] {
  const byVersion = new Map(versions.map((one) => [one.version, one.fields]))
  const firstFields = byVersion.get(1) as Fields
  const lost = new Set(operations.filter(({ status }) => status === 0))
  return versions.flatMap(({ version, fields }) => {
    if (version === 1 || makers.has(version) || !fields) return []
    const before = byVersion.get(version - 1)
    const maker = [...lost].find(
      ({ operation, expected, number, text }) =>
        (before !== undefined || operation.action === 'restore') &&
        (expected === undefined || expected === version - 1) &&
        !['read', 'remove'].includes(operation.action) &&
        isDeepStrictEqual(fields, nextFields(operation, before ?? firstFields, firstFields, number, text)),
    )
    if (maker) lost.delete(maker)
    return maker ? [] : [`nobody asked for version ${version}: ${JSON.stringify(fields)}`]
  })
}

/** Every deletion comes from an acknowledged removal, or from one whose response was lost. */
function countDeletions(versions: readonly RecordVersion[], operations: readonly SentOperation[]): string[] {
  const deletions = versions.filter(({ fields }) => !fields).length
  const removals = operations.filter(({ operation }) => operation.action === 'remove')
  const acknowledgedCount = removals.filter(({ status }) => status >= 200 && status < 300).length
  const open = removals.filter(({ status }) => status === 0).length
  return deletions < acknowledgedCount || deletions > acknowledgedCount + open
    ? [`${deletions} deletions, of which ${acknowledgedCount} were acknowledged and ${open} lost`]
    : []
}

/**
 * Versions that were acknowledged before an operation started exist when it starts; those that were acknowledged to an
 * operation that started after its end do not exist before.
 */
function findPossibleVersions(
  operations: readonly SentOperation[],
  last: number,
): ReadonlyMap<SentOperation, PossibleVersions> {
  const versionedOperations = operations.filter(({ version }) => version !== undefined)
  const byEnd = versionedOperations.toSorted((a, b) => b.end - a.end)
  const byStart = versionedOperations.toSorted((a, b) => a.start - b.start)
  const isWrite = ({ operation, status }: SentOperation) => operation.action !== 'read' && status < 300
  const versionOf = ({ version = 0 }: SentOperation) => version
  // A later read or refusal may show the same version; a later write makes another one.
  const formerOf = (one: SentOperation) => versionOf(one) - (isWrite(one) ? 1 : 0)

  const possible = new Map<SentOperation, PossibleVersions>()
  let from = 0
  for (const one of operations.toSorted((a, b) => a.start - b.start)) {
    while ((byEnd.at(-1)?.end ?? one.start) < one.start)
      from = Math.max(from, versionOf(byEnd.pop() as SentOperation))
    possible.set(one, { from: Math.max(1, isWrite(one) ? from + 1 : from), to: last })
  }
  let to = last
  for (const one of operations.toSorted((a, b) => b.end - a.end)) {
    while ((byStart.at(-1)?.start ?? one.end) > one.end)
      to = Math.min(to, formerOf(byStart.pop() as SentOperation))
    Object.assign(possible.get(one) as PossibleVersions, { to })
  }
  return possible
}
