import { parseVersionUid } from '../../records/compositions/composition-record.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { isUuid } from '../../schemas/validation/uuid.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { type SentComposition, valueAt } from '../compositions/read-composition.ts'
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'

/** The classes of versioned objects. */
const VERSIONED_CLASSES = ['COMPOSITION', 'EHR_STATUS', 'FOLDER'] as const
export type VersionedClass = (typeof VERSIONED_CLASSES)[number]

/** A client's description of a commit; the service adds time and system. */
export interface SentAudit {
  /** Code of the openEHR terminology. */
  changeType: string
  committer?: RmObject | undefined
  description?: RmObject | undefined
}

/** One version of a contribution. */
export interface SentVersion {
  audit: SentAudit
  /** Code of the openEHR terminology. */
  lifecycle: string
  /** undefined: that of the preceding version */
  type: VersionedClass | undefined
  preceding: { id: string; version: number } | undefined
  /** undefined in a deletion */
  data: SentComposition | undefined
}

export interface SentContribution {
  uid: string | undefined
  audit: SentAudit
  versions: SentVersion[]
}

export const CREATION = '249'
export const DELETED = '523'

/** Texts of the codes for change types and lifecycle states. */
export const COMMIT_CODES: Readonly<Record<string, string>> = {
  249: 'creation',
  250: 'amendment',
  251: 'modification',
  252: 'synthesis',
  253: 'unknown',
  523: 'deleted',
  666: 'attestation',
  532: 'complete',
  553: 'incomplete',
}
const CHANGE_CODES = ['249', '250', '251', '252', '253', '523', '666']
/** The change types that an existing object can have, without its deletion. */
export const STATUS_CHANGE_CODES = CHANGE_CODES.filter((code) => code !== CREATION && code !== DELETED)
const LIFECYCLE_CODES = ['532', '553', '523']

/** Maximum number of versions in a contribution. */
const MAX_VERSIONS = 100
const VERSION_UID = /^[\w-]{1,64}::[\w.-]{1,64}::\d{1,9}$/

/** Reads the parts of a contribution except the data of its versions. @throws InvalidInput */
export function readContribution(json: unknown): SentContribution {
  const reader = new ContributionReader()
  const contribution = reader.read(json)
  if (reader.violations.length > 0) throw new ServiceError('InvalidInput', { violations: reader.violations })
  return contribution
}

class ContributionReader {
  readonly violations: Violation[] = []

  read(json: unknown): SentContribution {
    const uid = valueAt(json, 'uid', 'value')
    if (uid !== undefined && !(typeof uid === 'string' && isUuid(uid)))
      this.#add('uid.value', 'pattern', 'must be a UUID')
    const versions = valueAt(json, 'versions')
    const versionList = Array.isArray(versions) ? versions : []
    if (versionList.length === 0 || versionList.length > MAX_VERSIONS)
      this.#add('versions', 'length', `must be a list of 1 to ${MAX_VERSIONS} versions`)
    if (valueAt(json, 'audit') === undefined) this.#add('audit', 'required', 'is required')
    return {
      uid: typeof uid === 'string' ? uid.toLowerCase() : undefined,
      audit: this.#readAudit(valueAt(json, 'audit'), 'audit', undefined),
      versions: versionList.slice(0, MAX_VERSIONS).map((one, i) => this.#readVersion(one, `versions.${i}`)),
    }
  }

  #add(path: string, code: string, message: string): void {
    this.violations.push({ path, code, message })
  }

  #readVersion(json: unknown, path: string): SentVersion {
    const preceding = this.#readPreceding(json, `${path}.preceding_version_uid.value`)
    const audit = this.#readAudit(valueAt(json, 'commit_audit'), `${path}.commit_audit`, preceding)
    const data = valueAt(json, 'data') ?? undefined
    const isDeletion = audit.changeType === DELETED
    const typeName = valueAt(data, '_type')
    const type = VERSIONED_CLASSES.find((one) => one === typeName)
    if (data === undefined ? !isDeletion : type === undefined)
      this.#add(`${path}.data`, 'type', `must be a ${VERSIONED_CLASSES.join(', ')}`)
    const isCreation = audit.changeType === CREATION
    if (isCreation === (preceding !== undefined))
      this.#add(
        `${path}.preceding_version_uid`,
        'changeType',
        isCreation ? 'must be absent from a creation' : 'is required except in a creation',
      )
    const lifecycle = codeIn(json, 'lifecycle_state') ?? (isDeletion ? DELETED : '532')
    const lifecycleCodes = isDeletion ? LIFECYCLE_CODES : LIFECYCLE_CODES.filter((one) => one !== DELETED)
    this.#requireCode(lifecycle, lifecycleCodes, `${path}.lifecycle_state`)
    for (const name of ['signature', 'attestations'])
      if ([valueAt(json, name) ?? []].flat().length > 0)
        this.#add(`${path}.${name}`, 'unsupported', 'is not supported: leave it out')
    return { audit, lifecycle, type, preceding, data: isDeletion ? undefined : { json: data } }
  }

  #readPreceding(json: unknown, path: string): SentVersion['preceding'] {
    const uid = valueAt(json, 'preceding_version_uid', 'value') ?? undefined
    if (uid === undefined) return undefined
    if (!VERSION_UID.test(String(uid))) this.#add(path, 'versionUid', 'must be the uid of a version')
    const { id, version = 0 } = parseVersionUid(String(uid).toLowerCase())
    return { id, version }
  }

  #readAudit(json: unknown, path: string, preceding: SentVersion['preceding']): SentAudit {
    const changeType = codeIn(json, 'change_type') ?? (preceding ? '251' : CREATION)
    this.#requireCode(changeType, CHANGE_CODES, `${path}.change_type`)
    // The service stores its own system and time; what a client sends in their place must still be valid.
    const systemId = valueAt(json, 'system_id') ?? undefined
    if (systemId !== undefined && (typeof systemId !== 'string' || systemId.trim() === ''))
      this.#add(`${path}.system_id`, 'format', 'must be a text that is not empty')
    this.#readPart(json, 'time_committed', 'DV_DATE_TIME', path)
    return {
      changeType,
      committer: this.#readPart(json, 'committer', 'PARTY_PROXY', path),
      description: this.#readPart(json, 'description', 'DV_TEXT', path),
    }
  }

  #readPart(json: unknown, name: string, type: string, path: string): RmObject | undefined {
    const part = valueAt(json, name) ?? undefined
    if (part === undefined) return undefined
    // Programs leave out the type of a committer.
    const typedPart =
      type === 'PARTY_PROXY' && valueAt(part, '_type') === undefined && typeof part === 'object'
        ? { _type: 'PARTY_IDENTIFIED', ...part }
        : part
    const { object, violations } = readCanonicalJson(typedPart, type)
    for (const one of violations)
      this.#add([path, name, one.path].filter(Boolean).join('.'), one.code, one.message)
    return object
  }

  #requireCode(code: string, codes: readonly string[], path: string): void {
    if (!codes.includes(code))
      this.#add(`${path}.defining_code.code_string`, 'code', `must be one of ${codes.join(', ')}`)
  }
}

const codeIn = (json: unknown, name: string): string | undefined => {
  const code = valueAt(json, name, 'defining_code', 'code_string')
  return code === undefined || code === null ? undefined : String(code)
}
