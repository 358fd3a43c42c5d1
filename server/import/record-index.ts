import { isDeepStrictEqual } from 'node:util'
import { AdverseReaction } from '../../records/conditions/adverse-reaction.ts'
import { Device } from '../../records/conditions/device.ts'
import { normalizeText } from '../../records/conditions/search-words.ts'
import { definedMembers, type ImportedResource, isJsonObject, type JsonObject } from './import-entry.ts'

/**
 * A person can have the same diagnosis, medication or immunisation several times. These days tell two of the same name
 * and code apart; the first one that a record has counts.
 */
const DISTINGUISHING_DAYS: Partial<Record<ImportedResource, readonly string[]>> = {
  diagnosis: ['onset', 'recognised', 'resolved'],
  medication: ['start', 'asserted', 'end'],
  immunisation: ['date'],
}
const NATURAL_KEYS = { adversereaction: AdverseReaction.naturalKey, device: Device.naturalKey }

const keysOf = (resource: ImportedResource, record: JsonObject): string[] =>
  resource === 'adversereaction' || resource === 'device'
    ? (NATURAL_KEYS[resource]?.keysOf(record) ?? [])
    : [numberedKeyOf(DISTINGUISHING_DAYS[resource] ?? [], record)]

function numberedKeyOf(days: readonly string[], record: JsonObject): string {
  const { name, vaccine, code, comment } = record
  // The comment contains imprecise dates.
  const when = (day: string) => record[day] ?? new RegExp(`^${day}: (.*)$`, 'm').exec(String(comment))?.[1]
  const { system = null, code: value = null } = (code ?? {}) as JsonObject
  const [first = null] = days.flatMap((day) => when(day) ?? [])
  return JSON.stringify([name ?? vaccine, system, value, first])
}

/** A record of the EHR. */
export class IndexedRecord {
  readonly id: string
  readonly #content: JsonObject
  /** Whether an entry of the file has the same content. */
  isClaimed: boolean

  constructor(content: JsonObject, isClaimed: boolean) {
    this.id = String(content.id)
    this.#content = content
    this.isClaimed = isClaimed
  }

  /** The fields of a body that the record has not, or with another value. */
  findDifferences(body: JsonObject): string[] {
    return Object.keys(body).filter((field) => !isSameValue(field, this.#content[field], body[field]))
  }
}

/** Case and spaces of a substance do not matter. */
const isSameValue = (field: string, one: unknown, other: unknown): boolean =>
  field === 'substance'
    ? normalizeText(String(one)) === normalizeText(String(other))
    : isDeepStrictEqual(withoutNullsDeep(one), withoutNullsDeep(other))

function withoutNullsDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullsDeep)
  return isJsonObject(value) ? definedMembers(value) : value
}

/** The EHR's records of a resource, by the keys under which two may be the same. */
export class RecordIndex {
  readonly #resource: ImportedResource
  readonly #records = new Map<string, IndexedRecord[]>()

  constructor(resource: ImportedResource) {
    this.#resource = resource
  }

  add(content: JsonObject, isClaimed = false): void {
    const record = new IndexedRecord(content, isClaimed)
    for (const key of keysOf(this.#resource, definedMembers(content)))
      this.#records.set(key, [...(this.#records.get(key) ?? []), record])
  }

  /** A record with a key of the body. */
  find(body: JsonObject): IndexedRecord | undefined {
    return this.#withKeyOf(body)[0]
  }

  /** Finds a record with the content of an entry, and notes that the file contains it. */
  claim(body: JsonObject): IndexedRecord | undefined {
    const record = this.#withKeyOf(body).find((one) => one.findDifferences(body).length === 0)
    if (record) record.isClaimed = true
    return record
  }

  /**
   * A record with a key of the body that no entry of the file has: the body may be its former content. A record that
   * another entry has is another one in the file, too.
   */
  findUnclaimed(body: JsonObject): IndexedRecord | undefined {
    return this.#withKeyOf(body).find(({ isClaimed }) => !isClaimed)
  }

  #withKeyOf(body: JsonObject): IndexedRecord[] {
    return keysOf(this.#resource, body).flatMap((key) => this.#records.get(key) ?? [])
  }
}
