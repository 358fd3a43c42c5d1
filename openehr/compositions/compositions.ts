import { setImmediate as giveWay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { Composition, parseVersionUid, versionUidOf } from '../../records/compositions/composition-record.ts'
import { statusIdOf } from '../../records/compositions/ehr-status-record.ts'
import { insertTargetFor, type ParentIds } from '../../records/ehr-records/parents/parents.ts'
import { auditRefusedCreation, requireNoViolations } from '../../records/ehr-records/refusals/refusals.ts'
import { ehrPermissions } from '../../records/ehrs/rights/access.ts'
import { TimeSlice } from '../../records/limits/time-slice.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from '../../records/store/documents/database.ts'
import type { SavedRecord } from '../../records/store/documents/parse-format.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import type { ConditionalWriteOptions } from '../../records/store/store.ts'
import { type RecordHistoryEntry, Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { RecordParent } from '../../records/store/writing/batch-writer.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ifNotFound, ServiceError } from '../../schemas/errors.ts'
import { toLowerCaseUuid } from '../../schemas/validation/uuid.ts'
import type { CompositionView } from '../composition-views/composition-view.ts'
import { isRecordId, ViewCompositions } from '../composition-views/view-compositions.ts'
import { compositionMeasurements } from '../measurement-mapping/composition-measurements.ts'
import type { StoredTemplate, TemplateStore } from '../templates/template-store.ts'
import { readVersion, requireOneVersion, withVersionUid } from '../versions/read-version.ts'
import { toRmObject } from './composition-json.ts'
import { findLinks, targetIds } from './links.ts'
import { readComposition, type SentComposition, valueAt } from './read-composition.ts'
import { NO_SEARCH_FIELDS, SEARCH_FIELD_NAMES, searchFieldsOf } from './search-fields.ts'

type CompositionRecord = Static<typeof Composition.schema>
export type SavedComposition = SavedRecord<CompositionRecord>

/** Selects a version; by default the latest. */
interface VersionSelector {
  versionUid?: string | undefined
  at?: string | undefined
}

/** Valid content of a composition, ready to be saved. */
export interface CompositionContent {
  fields: Omit<CompositionRecord, 'ehrId' | 'carePlanId'>
  uid: string | undefined
}

interface InsertOptions {
  newUuid: string
  tx?: Transaction
  /** Adds conditions under which the parent admits the composition. */
  restrict?: ((target: RecordParent) => RecordParent) | undefined
}

interface RemoveOptions extends ConditionalWriteOptions {
  /** Creates the error for a composition that is already deleted. */
  deletedError?: () => ServiceError
}

interface CompositionKey {
  ehrId: string
  /** Id of the composition, or uid of a version. */
  uid: string
}

/** The compositions of the EHRs, each with all its versions. */
export class Compositions {
  readonly #context: StoreContext
  readonly #templates: TemplateStore
  readonly #viewCompositions: ViewCompositions
  readonly #store

  /**
   * @param kinds measurements that compositions may contain
   * @param views records that are shown as compositions
   */
  constructor(
    context: StoreContext,
    templates: TemplateStore,
    kinds: readonly MeasurementKind[],
    views: readonly CompositionView[],
  ) {
    this.#context = context
    this.#templates = templates
    this.#viewCompositions = new ViewCompositions(context, views)
    this.#store = new Store(context, { ...Composition, recordDerivation: compositionMeasurements(kinds) })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /**
   * @param again whether an earlier attempt of the same request may have created it
   * @throws NotFound; Forbidden if the caller may only read the EHR or the plan; InvalidInput, RuleViolated
   * with all violations; Conflict when the uid is taken
   */
  create(
    caller: Caller,
    parentIds: ParentIds,
    input: SentComposition,
    { newUuid, isRetry, restrict }: { newUuid: string; isRetry: boolean } & Pick<InsertOptions, 'restrict'>,
  ) {
    return auditRefusedCreation(this.#context, caller, Composition.collection, parentIds.ehrId, async () => {
      const content = await this.read(caller, input)
      const { uid } = content
      try {
        return await this.insert(caller, parentIds, content, { newUuid, restrict })
      } catch (error) {
        if (!isDuplicateKeyError(error)) throw error
        if (uid === undefined || isRetry)
          return this.#store.get(caller, { id: uid ?? newUuid, ehrId: parentIds.ehrId })
        throw takenUidError(error)
      }
    })
  }

  /**
   * Saves new content, in the transaction of other writes if there is one.
   * @throws NotFound; Forbidden; Conflict; MongoServerError when the id is taken
   */
  async insert(
    caller: Caller,
    parentIds: ParentIds,
    { fields, uid }: CompositionContent,
    { newUuid, tx, restrict = (target) => target }: InsertOptions,
  ): Promise<SavedComposition> {
    const id = uid ?? newUuid
    if (id === statusIdOf(parentIds.ehrId)) throw takenUidError()
    const record = { ...fields, ...parentIds, id } as CompositionRecord & { id: string }
    const where = {
      ...restrict(insertTargetFor({ permissions: ehrPermissions }, id, parentIds)),
      referencedRecord: this.#templates.requireFor(fields),
    }
    const [composition] = await this.#store.createAll(caller, [record], where, { tx })
    return composition as SavedComposition
  }

  /** The compositions that are not deleted, the latest start first. @throws NotFound */
  list(caller: Caller, ehrId: string, page: PageRequest): Promise<Page<SavedComposition>> {
    const where = { ehrId, json: { exists: true } } as const
    return this.#store.list(caller, 'ofEhr', { where, ...page })
  }

  /** One version. @throws NotFound, also for an unknown version; InvalidInput when several are named */
  async get(
    caller: Caller,
    { ehrId, uid }: CompositionKey,
    { versionUid: requestedUid, at }: VersionSelector = {},
  ): Promise<SavedComposition> {
    const { id, version } = await this.#parseUid(ehrId, uid)
    const versionKey =
      requestedUid === undefined ? { id, version } : await this.#parseUid(ehrId, requestedUid)
    if (versionKey.id !== id) throw new ServiceError('NotFound')
    const selector = { version: versionKey.version, at }
    requireOneVersion(version, selector)
    const viewComposition = await this.#viewCompositions.get(caller, { ehrId, id }, selector)
    if (viewComposition) return viewComposition
    const latest = await this.#store.get(caller, { id, ehrId }, { without: SEARCH_FIELD_NAMES })
    return readVersion(latest, selector, (version) => this.#store.findFormerVersion(caller, latest, version))
  }

  /**
   * The uid of the latest version, if the caller may read it and has it already. Its content is not read.
   * @param isKnown whether the caller has a version; undefined: it has none
   */
  async findKnownUid(
    caller: Caller,
    { ehrId, uid }: CompositionKey,
    isKnown: ((uid: string) => boolean) | undefined,
  ): Promise<string | undefined> {
    const { id, version } = parseVersionUid(uid)
    if (!isKnown || isRecordId(id) || version !== undefined) return undefined
    const composition = await this.#store.find(caller, { id, ehrId }, { without: CONTENT })
    if (!composition || !isKnown(versionUidOf(composition))) return undefined
    await this.#context.audit.record(...accessesByEhr(Composition, caller, { action: 'read' }, [composition]))
    return versionUidOf(composition)
  }

  /** @throws NotFound, also when it is deleted; PreconditionFailed with the latest version; as create */
  async replace(
    caller: Caller,
    { ehrId, uid }: CompositionKey,
    input: SentComposition,
    expected: ExpectedVersions,
  ): Promise<SavedComposition> {
    const { id } = await this.#parseChangeable(caller, { ehrId, uid })
    const needsTemplate = 'format' in input && input.templateId === undefined
    const { templateId } = needsTemplate ? await this.#store.get(caller, { id, ehrId }) : {}
    const content = await this.read(caller, needsTemplate ? { ...input, templateId } : input)
    return this.update(caller, { ehrId, id }, content, { expected })
  }

  /** Replaces content, in the transaction of other writes if there is one. @throws as replace */
  update(
    caller: Caller,
    { ehrId, id }: { ehrId: string; id: string },
    { fields, uid: sentUid }: CompositionContent,
    options: ConditionalWriteOptions,
  ): Promise<SavedComposition> {
    if (sentUid !== undefined && sentUid !== toLowerCaseUuid(id))
      requireNoViolations([{ path: 'uid.value', code: 'idMismatch', message: 'must be the one in the path' }])
    return withVersionUid(id, () =>
      this.#store.update(
        caller,
        { id, ehrId },
        (latest) => {
          if (latest.json === undefined) throw new ServiceError('NotFound')
          if (latest.template !== fields.template)
            requireNoViolations([
              {
                path: 'archetype_details.template_id.value',
                code: 'template',
                message: `must stay ${latest.templateId}`,
              },
            ])
          return withContent(latest, fields)
        },
        options,
      ),
    )
  }

  /**
   * Restores the content of a former version, also of a deleted composition.
   * @throws NotFound, also for an unknown version; RuleViolated when that version marks the composition as deleted, or
   * its template has changed; Conflict, PreconditionFailed with the latest version
   */
  async restore(
    caller: Caller,
    { ehrId, uid }: CompositionKey,
    version: number,
    options: ConditionalWriteOptions,
  ): Promise<SavedComposition> {
    const { id } = await this.#parseChangeable(caller, { ehrId, uid })
    const key = { id, ehrId }
    const write = async () => {
      const { fields } = await this.#readFormer(caller, key, version)
      return runStoreTransaction(this.#context, async (tx) => {
        await this.#templates.keep(tx, fields)
        const change = (latest: SavedComposition) => withContent(latest, fields)
        return (await this.#store.updateUnaudited(caller, key, change, { ...options, tx })).record
      })
    }
    return withVersionUid(id, () => this.#store.auditRefusal(caller, 'update', key, write))
  }

  /** The content of a former version. A modeller may have replaced its template while no composition used it. */
  async #readFormer(
    caller: Caller,
    key: { id: string; ehrId: string },
    version: number,
  ): Promise<CompositionContent> {
    const json = toRmObject(await this.#store.readFormer(caller, key, version, { without: CONTENT }))
    if (!json)
      requireNoViolations([{ path: 'version', code: 'deleted', message: 'marks the composition as deleted' }])
    return this.read(caller, { json })
  }

  /**
   * Adds a version that marks the composition as deleted.
   * @throws NotFound, also when it is already deleted, unless `deletedError` is given; Conflict, PreconditionFailed
   */
  async remove(
    caller: Caller,
    { ehrId, uid }: CompositionKey,
    { deletedError = () => new ServiceError('NotFound'), ...options }: RemoveOptions,
  ): Promise<SavedComposition> {
    const { id, version } = await this.#parseChangeable(caller, { ehrId, uid })
    return withVersionUid(id, () =>
      this.#store.update(
        caller,
        { id, ehrId },
        (latest) => {
          if (latest.json === undefined) throw deletedError()
          if (version !== undefined && version !== latest.version)
            throw new ServiceError('Conflict', {
              detail: 'This is not the latest version. Read the composition again.',
              version: versionUidOf(latest),
            })
          const { json: _, start: __, ...rest } = latest
          return { ...rest, ...NO_SEARCH_FIELDS }
        },
        { ...options, action: 'delete' },
      ),
    )
  }

  /** The versions with author and time. @throws NotFound */
  async history(
    caller: Caller,
    { ehrId, uid }: CompositionKey,
    page: PageRequest,
  ): Promise<Page<RecordHistoryEntry<CompositionRecord>>> {
    const { id } = await this.#parseUid(ehrId, uid)
    return this.#store.history(caller, { id, ehrId }, page)
  }

  /** The links of a composition, and the links of others in the EHR to it. @throws NotFound, also when it is deleted */
  async getWithLinks(caller: Caller, key: CompositionKey) {
    const composition = await this.get(caller, key)
    if (composition.json === undefined) throw new ServiceError('NotFound')
    const { ehrId, id } = composition
    const storedLinks = findLinks(toRmObject(composition))
    const targetsById = await this.#findLinkTargets(
      caller,
      ehrId,
      storedLinks.flatMap(({ target }) => targetIds(target)),
    )
    const where = { ehrId, links: id } as never
    const { items } = await this.#store.list(caller, 'linked', { where, limit: MAX_LINKS })
    const outgoing = storedLinks.slice(0, MAX_LINKS).map((link) => {
      const linked = targetIds(link.target).flatMap((target) => targetsById.get(target) ?? [])[0]
      return {
        direction: 'outgoing',
        ...link,
        ...(linked && { composition: toLinkedComposition(linked) }),
      }
    })
    const incoming = items.flatMap((other) =>
      findLinks(toRmObject(other))
        .filter(({ target }) => targetIds(target).includes(id))
        .map((link) => ({ direction: 'incoming', ...link, composition: toLinkedComposition(other) })),
    )
    return { composition, links: [...outgoing, ...incoming] }
  }

  /** Parses the uid of a composition that is to change. @throws Conflict when it shows a record */
  async #parseChangeable(caller: Caller, { ehrId, uid }: CompositionKey) {
    const versionUid = await this.#parseUid(ehrId, uid)
    await this.#viewCompositions.refuseChange(caller, { ehrId, id: versionUid.id })
    return versionUid
  }

  /** Parses a uid; a UUID in capitals means the same, but earlier versions of the service stored it as it was sent. */
  async #parseUid(ehrId: string, uid: string): Promise<ReturnType<typeof parseVersionUid>> {
    const parsed = parseVersionUid(uid)
    const _id = parsed.id
    const id = toLowerCaseUuid(_id)
    if (id === _id) return parsed
    const compositions = documentCollection(this.#context, Composition.collection)
    const isStored = await compositions.findOne({ _id, ehrId }, { projection: { _id: 1 } })
    return isStored ? parsed : { ...parsed, id }
  }

  /** The ones of the ids that belong to compositions of the EHR. */
  async #findLinkTargets(
    caller: Caller,
    ehrId: string,
    ids: string[],
  ): Promise<Map<string, SavedComposition>> {
    const targets = new Map<string, SavedComposition>()
    for (const id of [...new Set(ids)].slice(0, MAX_LINKS)) {
      const target = await this.#store.get(caller, { id, ehrId }).catch(() => undefined)
      if (target?.json !== undefined) targets.set(id, target)
    }
    return targets
  }

  /** Reads content and checks it against the model and its template. @throws as create */
  async read(caller: Caller, input: SentComposition): Promise<CompositionContent> {
    const { object, template } = await readComposition(
      input,
      (templateId) => this.#findTemplate(caller, templateId),
      this.#context.clock(),
      new TimeSlice({ admission: caller.admission }),
    )
    await giveWay()
    const searchFields = searchFieldsOf(object)
    await giveWay()
    const { uid, ...rest } = object
    const uidText = valueAt(uid, 'value')
    return {
      fields: {
        template: template.head.id,
        templateId: template.head.templateId,
        name: String(valueAt(object, 'name', 'value')),
        ...searchFields,
        json: JSON.stringify(rest),
      },
      uid: typeof uidText === 'string' ? requireUuid(uidText) : undefined,
    }
  }

  #findTemplate(caller: Caller, templateId: string): Promise<StoredTemplate | undefined> {
    return this.#templates.getCached(caller, templateId).catch(ifNotFound(undefined))
  }
}

/** The composition with other content, which may lack a start. */
const withContent = (
  { start: _, ...latest }: SavedComposition,
  content: CompositionContent['fields'],
): CompositionRecord => ({ ...latest, ...content })

/** A composition as the target or source of a link. */
const toLinkedComposition = (composition: SavedComposition) => ({
  uid: versionUidOf(composition),
  templateId: composition.templateId,
  name: composition.name,
})

/** The fields with the content, which are large. */
const CONTENT = [...SEARCH_FIELD_NAMES, 'json']

/** Maximum number of links in one response. */
const MAX_LINKS = 200

/** The openEHR REST API answers 400 to the deletion of a deleted composition. */
export const deletedCompositionError = (): ServiceError =>
  new ServiceError('MalformedRequest', {
    violations: [{ path: 'compositionId', code: 'deleted', message: 'is deleted already' }],
  })

const takenUidError = (cause?: unknown): ServiceError =>
  new ServiceError('Conflict', { detail: 'A composition with this uid already exists.', cause })

/** A UUID, or the uid of a version: `8849182c-…::system::1`. */
const UID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(::[^:\s]+::\d+(\.\d+\.\d+)?)?$/i

/**
 * The id in a uid that a client sent. Ids of records, which AQL shows as compositions, have another form, so that no
 * composition can take one.
 * @throws RuleViolated when it is not a UUID
 */
function requireUuid(uid: string): string {
  if (!UID_PATTERN.test(uid))
    requireNoViolations([
      {
        path: 'uid.value',
        code: 'pattern',
        message: 'must be a UUID, or the uid of a version (UUID::system::1)',
      },
    ])
  return toLowerCaseUuid(parseVersionUid(uid).id)
}
