import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { ehrPermissions } from '../../ehrs/rights/access.ts'
import type { MeasurementKind } from '../../measurements/measurement.ts'
import { into, type Place } from '../../registered/into.ts'
import { auditingRefusal, refuseViolations } from '../../registered/refusals/refusals.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { isDuplicate } from '../../store/documents/database.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import { type PastChange, Store } from '../../store/store.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { Composition, uidIn, versionUid } from '../composition-record.ts'
import { heldMeasurements } from '../measured/held-measurements.ts'
import { MeasuredCompositions } from '../measured/measured-compositions.ts'
import type { RmObject } from '../rm/canonical.ts'
import type { KeptTemplate, Templates } from '../templates/kept-templates.ts'
import { indexedIn } from './facts.ts'
import { FactsFilling } from './facts-filling.ts'
import { linksIn, targetsOf } from './links.ts'
import { readComposition, type Sent, within } from './reading.ts'

type Kept = Static<typeof Composition.schema>
export type SavedComposition = Saved<Kept>

/** Which version is asked for; without either the latest. */
interface Which {
  versionUid?: string | undefined
  at?: string | undefined
}

interface Key {
  ehrId: string
  /** With a version behind it, perhaps. */
  uid: string
}

/** The compositions of the EHRs, each with all its versions. */
export class Compositions {
  readonly #records: Records
  readonly #templates: Templates
  readonly #measured: MeasuredCompositions
  readonly #store
  /** Of those that were stored before there were any. */
  readonly facts: FactsFilling

  /** @param kinds the measurements that are compositions, too, and that compositions hold */
  constructor(records: Records, templates: Templates, kinds: readonly MeasurementKind[]) {
    this.#records = records
    this.#templates = templates
    this.#measured = new MeasuredCompositions(records, kinds)
    this.facts = new FactsFilling(records)
    this.#store = new Store(records, { ...Composition, companion: heldMeasurements(kinds) })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /**
   * @param again whether an earlier attempt of the same request may have done it
   * @throws NotFound; Forbidden for one who may only read the EHR, or the plan; InvalidInput, RuleViolated with every
   * violation; Conflict when it brings a uid that is taken
   */
  create(caller: Caller, place: Place, sent: Sent, { newUuid, again }: { newUuid: string; again: boolean }) {
    return auditingRefusal(this.#records, caller, Composition.collection, place.ehrId, async () => {
      const { kept, uid } = await this.#read(caller, sent)
      const id = uid ?? newUuid
      const made = { ...kept, ...place, id } as Kept & { id: string }
      const where = {
        ...into({ permissions: ehrPermissions }, id, place),
        holding: this.#templates.holding(kept.template),
      }
      try {
        const [created] = await this.#store.createAll(caller, [made], where)
        return created as SavedComposition
      } catch (error) {
        if (!isDuplicate(error)) throw error
        if (uid === undefined || again) return this.#store.get(caller, { id, ehrId: place.ehrId })
        throw new ServiceError('Conflict', {
          detail: 'A composition with this uid already exists.',
          cause: error,
        })
      }
    })
  }

  /** One version. @throws NotFound, also for a version that there is not */
  async get(
    caller: Caller,
    { ehrId, uid }: Key,
    { versionUid: requested, at }: Which = {},
  ): Promise<SavedComposition> {
    const { id, version } = uidIn(uid)
    const named = requested === undefined ? { id, version } : uidIn(requested)
    if (named.id !== id) throw new ServiceError('NotFound')
    const measured = await this.#measured.get(caller, { ehrId, id }, named.version)
    if (measured) return measured
    const now = await this.#store.get(caller, { id, ehrId })
    if (at !== undefined) return this.#versionAt(caller, now, at)
    return named.version === undefined ? now : this.#version(caller, now, named.version)
  }

  /** @throws NotFound, also when it is deleted; PreconditionFailed with the latest version; as create */
  async replace(
    caller: Caller,
    { ehrId, uid }: Key,
    sent: Sent,
    expected: Expected,
  ): Promise<SavedComposition> {
    const { id } = uidIn(uid)
    await this.#measured.refuseChange(caller, { ehrId, id })
    const { kept, uid: told } = await this.#read(caller, sent)
    if (told !== undefined && told !== id)
      refuseViolations([{ path: 'uid.value', code: 'idMismatch', message: 'must be the one in the path' }])
    return this.#changing(id, () =>
      this.#store.update(
        caller,
        { id, ehrId },
        (now) => {
          if (now.json === undefined) throw new ServiceError('NotFound')
          if (now.template !== kept.template)
            refuseViolations([
              {
                path: 'archetype_details.template_id.value',
                code: 'template',
                message: `must be ${now.templateId} as before`,
              },
            ])
          const { start: _, ...rest } = now
          return { ...rest, ...kept }
        },
        { expected },
      ),
    )
  }

  /** Adds a version that says that it is deleted. @throws NotFound; MalformedRequest when it is; Conflict, PreconditionFailed */
  async remove(caller: Caller, { ehrId, uid }: Key, expected: Expected): Promise<void> {
    const { id, version } = uidIn(uid)
    await this.#measured.refuseChange(caller, { ehrId, id })
    await this.#changing(id, () =>
      this.#store.update(
        caller,
        { id, ehrId },
        (now) => {
          if (now.json === undefined)
            throw new ServiceError('MalformedRequest', {
              violations: [{ path: 'compositionId', code: 'deleted', message: 'has already been deleted' }],
            })
          if (version !== undefined && version !== now.version)
            throw new ServiceError('Conflict', { detail: 'This is not the latest version.' })
          const { json: _, start: __, ...rest } = now
          return { ...rest, archetypes: [], links: [], facts: [] }
        },
        { expected, action: 'delete' },
      ),
    )
  }

  /** Who made which version. @throws NotFound */
  history(caller: Caller, { ehrId, uid }: Key, page: PageOf): Promise<Page<PastChange<Kept>>> {
    return this.#store.history(caller, { id: uidIn(uid).id, ehrId }, page)
  }

  /** The links of a composition, and those of others in the EHR that lead to it. @throws NotFound */
  async linked(caller: Caller, key: Key) {
    const now = await this.get(caller, key)
    const { ehrId, id } = now
    const own = linksIn(objectOf(now))
    const known = await this.#known(
      caller,
      ehrId,
      own.flatMap(({ target }) => targetsOf(target)),
    )
    const where = { ehrId, links: id } as never
    const { items } = await this.#store.list(caller, 'linked', { where, limit: MOST_LINKS })
    const outgoing = own.slice(0, MOST_LINKS).map((link) => {
      const composition = targetsOf(link.target).flatMap((target) => known.get(target) ?? [])[0]
      return { direction: 'outgoing', ...link, ...(composition && { composition: linkEnd(composition) }) }
    })
    const incoming = items.flatMap((other) =>
      linksIn(objectOf(other))
        .filter(({ target }) => targetsOf(target).includes(id))
        .map((link) => ({ direction: 'incoming', ...link, composition: linkEnd(other) })),
    )
    return { now, links: [...outgoing, ...incoming] }
  }

  /** Those of the ids that are compositions of the EHR. */
  async #known(caller: Caller, ehrId: string, ids: string[]): Promise<Map<string, SavedComposition>> {
    const found = new Map<string, SavedComposition>()
    for (const id of [...new Set(ids)].slice(0, MOST_LINKS)) {
      const target = await this.#store.get(caller, { id, ehrId }).catch(() => undefined)
      if (target?.json !== undefined) found.set(id, target)
    }
    return found
  }

  async #read(
    caller: Caller,
    sent: Sent,
  ): Promise<{ kept: Omit<Kept, 'ehrId' | 'carePlanId'>; uid: string | undefined }> {
    const { object, template } = await readComposition(sent, (templateId) =>
      this.#template(caller, templateId),
    )
    const { uid, ...rest } = object
    const told = within(uid, 'value')
    return {
      kept: {
        template: template.head.id,
        templateId: template.head.templateId,
        name: String(within(object, 'name', 'value')),
        archetypes: archetypesOf(object),
        ...indexedIn(object),
        links: [...new Set(linksIn(object).flatMap(({ target }) => targetsOf(target)))],
        json: JSON.stringify(rest),
      },
      uid: typeof told === 'string' ? objectIdIn(told) : undefined,
    }
  }

  #template(caller: Caller, templateId: string): Promise<KeptTemplate | undefined> {
    return this.#templates.toHold(caller, templateId).catch((error: unknown) => {
      if (error instanceof ServiceError && error.error === 'NotFound') return undefined
      throw error
    })
  }

  async #version(caller: Caller, now: SavedComposition, version: number): Promise<SavedComposition> {
    if (version === now.version) return now
    const former = await this.#store.versionOf(caller, now, version)
    if (!former) throw new ServiceError('NotFound')
    return former
  }

  /** The last version that was made until then, looked for by halves. */
  async #versionAt(caller: Caller, now: SavedComposition, at: string): Promise<SavedComposition> {
    const isLater = ({ updatedAt }: SavedComposition) => Date.parse(updatedAt) > Date.parse(at)
    if (!isLater(now)) return now
    let found: SavedComposition | undefined
    let [first, last] = [1, now.version - 1]
    while (first <= last) {
      const middle = Math.floor((first + last) / 2)
      const version = await this.#version(caller, now, middle)
      if (isLater(version)) last = middle - 1
      else [found, first] = [version, middle + 1]
    }
    if (!found) throw new ServiceError('NotFound')
    return found
  }

  /** The version that is there when another was expected, as clients know it. */
  async #changing<T>(id: string, change: () => Promise<T>): Promise<T> {
    try {
      return await change()
    } catch (error) {
      if (
        !(
          error instanceof ServiceError &&
          error.error === 'PreconditionFailed' &&
          typeof error.version === 'number'
        )
      )
        throw error
      throw new ServiceError('PreconditionFailed', {
        version: versionUid({ id, version: error.version }),
        cause: error,
      })
    }
  }
}

/** A composition at the end of a link. */
const linkEnd = (composition: SavedComposition) => ({
  uid: versionUid(composition),
  templateId: composition.templateId,
  name: composition.name,
})

/** Links of one answer. */
const MOST_LINKS = 200

/** The composition of a version with its uid; undefined: that version says that it is deleted. */
export function objectOf({
  json,
  ...version
}: Pick<SavedComposition, 'id' | 'version' | 'json'>): RmObject | undefined {
  if (json === undefined) return undefined
  const { _type, archetype_node_id, name, ...rest } = JSON.parse(json)
  const uid = { _type: 'OBJECT_VERSION_ID', value: versionUid(version) }
  return { _type, archetype_node_id, name, uid, ...rest }
}

function archetypesOf(object: unknown): string[] {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const id = (value as RmObject).archetype_node_id
    if (typeof id === 'string' && id.startsWith('openEHR-')) found.add(id)
    for (const member of Object.values(value)) visit(member)
  }
  visit(object)
  return [...found]
}

/** The id that a uid gives a composition. @throws RuleViolated when no path could name it */
function objectIdIn(uid: string): string {
  const { id } = uidIn(uid)
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id))
    refuseViolations([{ path: 'uid.value', code: 'pattern', message: 'must begin with a UUID' }])
  return id
}
