import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { IndexDescription } from 'mongodb'
import { Composition } from '../../records/compositions/composition-record.ts'
import { type Caller, isPermitted, serviceCaller } from '../../records/store/documents/caller.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import {
  createParseFormat,
  type ParseDocument,
  type SavedRecord,
} from '../../records/store/documents/parse-format.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import { Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { RequiredRecord } from '../../records/store/writing/batch-writer.ts'
import { createOrFindExisting } from '../../records/store/writing/create-or-find-existing.ts'
import { lockForRemoval, lockShared, type ReferencedRecord } from '../../records/store/writing/ehr-locks.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { getCachedDefinition } from '../../records/types/definition-cache.ts'
import { MODELLER_PERMISSIONS } from '../../records/types/modeller-permissions.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Template } from '../opt/constraints.ts'
import { requireExpandable } from '../opt/expansion.ts'
import { readStoredTemplate, readTemplate } from '../opt/read-template.ts'
import { gunzipFromBase64, gzipToBase64 } from './gzip.ts'
import { ArchetypeUse, archetypesOfTemplate } from './template-archetypes.ts'

/** The fields of a template that lists contain. */
const TemplateHeadRecord = Type.Object({
  /** The template's id in normal form: spaces and capitals do not matter. */
  key: Type.String(),
  templateId: Type.String(),
  concept: Type.String(),
  archetypeId: Type.String(),
  archetypes: Type.Array(ArchetypeUse),
})
type TemplateHeadRecord = Static<typeof TemplateHeadRecord>

/** The uploaded template in gzip and Base64, in a collection of its own so that lists need not read it. */
const TemplateFileRecord = Type.Object({ opt: Type.String() })

const TemplateHeads = {
  collection: 'openehr.templates',
  schema: TemplateHeadRecord,
  lists: { byId: { requiredFields: [], sort: 'key', order: 'asc' } },
  indexes: [{ key: { key: 1 }, unique: true }, { key: { concept: 1 } }],
} as const

const headFormat = createParseFormat(TemplateHeadRecord)

const TemplateFiles = { collection: 'openehr.template_files', schema: TemplateFileRecord, lists: {} } as const

/** Maximum number of templates, so that lists made from all of them stay small. */
const MAX_TEMPLATES = 10_000

/** Limit of the cache of parsed templates, measured by the size of their files. */
const MAX_CACHE_BYTES = 32 * 1024 * 1024

const definitionCacheKey = (key: string): string => `${TemplateHeads.collection}/${key}`

const normalizeTemplateId = (templateId: string): string => templateId.toLowerCase().replaceAll(/\s+/g, '')

const headOf = (template: Template): TemplateHeadRecord => ({
  key: normalizeTemplateId(template.templateId),
  templateId: template.templateId,
  concept: template.concept,
  archetypeId: template.root.archetype.id,
  archetypes: archetypesOfTemplate(template),
})

const lockOf = (id: string): ReferencedRecord => ({ collection: TemplateHeads.collection, id })

/** The template of a composition. */
interface TemplateReference {
  /** The record id. */
  template: string
  templateId: string
}

/** A template and its record. */
export interface StoredTemplate {
  head: SavedRecord<TemplateHeadRecord>
  template: Template
}

/** The operational templates: those of modellers and the built-in ones. */
export class TemplateStore {
  readonly #context: StoreContext
  readonly #heads
  readonly #files
  /** By record id: a template never changes, and its replacement is another record. */
  readonly #cache = new LRUCache<string, Template>({ maxSize: MAX_CACHE_BYTES })

  constructor(context: StoreContext) {
    this.#context = context
    this.#heads = new Store(context, TemplateHeads)
    this.#files = new Store(context, TemplateFiles)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#heads.indexes()]
  }

  /**
   * Creates the missing built-in templates, and replaces those that an earlier version of the service stored. Nobody
   * else may change or delete them. Their record ids are their template ids; a modeller's template has another id.
   */
  async addBuiltIn(files: ReadonlyMap<string, string>): Promise<void> {
    const existing = new Map((await this.all(serviceCaller)).map(({ key, id }) => [key, id]))
    for (const [templateId, xml] of files) {
      const id = existing.get(normalizeTemplateId(templateId))
      if (id === undefined)
        await this.add(serviceCaller, Buffer.from(xml), templateId, { read: ['*'], write: [] })
      else if (id === templateId) await this.#replaceBuiltIn(id, Buffer.from(xml))
    }
  }

  async #replaceBuiltIn(id: string, bytes: Buffer): Promise<void> {
    if (bytes.equals(await this.#readFile(serviceCaller, id))) return
    const head = headOf(readTemplate(bytes))
    const opt = await gzipToBase64(bytes)
    await runStoreTransaction(this.#context, async (tx) => {
      await this.#files.update(serviceCaller, { id }, () => ({ opt }), { tx, skipUnchanged: true })
      await this.#heads.update(serviceCaller, { id }, () => head, { tx, skipUnchanged: true })
    })
  }

  /**
   * @throws MalformedRequest, InvalidInput for an invalid template; RuleViolated if it cannot be expanded;
   * Conflict when a template has the same id
   */
  async add(
    caller: Caller,
    bytes: Uint8Array,
    id: string,
    permissions = MODELLER_PERMISSIONS,
  ): Promise<SavedRecord<TemplateHeadRecord>> {
    const template = readTemplate(bytes)
    if (/[/\\\p{Cc}]|^\.\.?$/u.test(template.templateId)) throw invalidIdError()
    requireExpandable(template.root)
    const head = headOf(template)
    const opt = await gzipToBase64(bytes)
    return createOrFindExisting(
      () =>
        runStoreTransaction(this.#context, async (tx) => {
          await this.#requireCapacity()
          await this.#files.create(caller, { opt }, permissions, { tx, id })
          return this.#heads.create(caller, head, permissions, { tx, id })
        }),
      () => this.#heads.get(caller, { id, key: head.key }),
    )
  }

  /** Lists the templates by id. @throws MalformedRequest for a cursor of another list */
  list(caller: Caller, page: PageRequest): Promise<Page<SavedRecord<TemplateHeadRecord>>> {
    return this.#heads.list(caller, 'byId', { where: {}, ...page })
  }

  /**
   * A template that will be expanded.
   * @throws NotFound; Conflict for a shared concept; RuleViolated if it cannot be expanded
   */
  async get(caller: Caller, name: string): Promise<StoredTemplate> {
    const head = await this.#findNamed(caller, name)
    const template = await this.#parseTemplate(caller, head)
    // Earlier versions of the service stored any template.
    requireExpandable(template.template.root)
    return template
  }

  /** A template that is at most a moment old, for callers that lock it while they use it. @throws NotFound */
  async getCached(caller: Caller, templateId: string): Promise<StoredTemplate> {
    const key = normalizeTemplateId(templateId)
    const look = () => this.#find(key)
    return this.#parseTemplate(
      caller,
      requireReadableHead(
        caller,
        await getCachedDefinition(this.#context.definitions, definitionCacheKey(key), look),
      ),
    )
  }

  async #parseTemplate(caller: Caller, head: SavedRecord<TemplateHeadRecord>): Promise<StoredTemplate> {
    const cachedTemplate = this.#cache.get(head.id)
    if (cachedTemplate) return { head, template: cachedTemplate }
    const bytes = await this.#readFile(caller, head.id)
    const template = readStoredTemplate(bytes)
    this.#cache.set(head.id, template, { size: bytes.length })
    return { head, template }
  }

  /** The template as it was uploaded. @throws NotFound; Conflict for a shared concept */
  async file(
    caller: Caller,
    name: string,
  ): Promise<{ head: SavedRecord<TemplateHeadRecord>; bytes: Buffer }> {
    const head = await this.#findNamed(caller, name)
    return { head, bytes: await this.#readFile(caller, head.id) }
  }

  /** The template for a write that refers to it, so that nobody deletes it at the same time. */
  requireFor({ template: id, templateId }: TemplateReference): RequiredRecord {
    return {
      ...lockOf(id),
      createRemovedError: () => {
        // Otherwise the next request would be checked by the same template.
        this.#context.definitions.delete(definitionCacheKey(normalizeTemplateId(templateId)))
        const detail = 'The template was deleted meanwhile. If it exists again, send the data again.'
        return new ServiceError('Conflict', { detail })
      },
    }
  }

  /** Keeps a template from being deleted before the transaction ends. @throws Conflict when it is deleted already */
  async keep(tx: Transaction, template: TemplateReference): Promise<void> {
    const requiredRecord = this.requireFor(template)
    const { id } = requiredRecord
    lockShared(this.#context, tx, [], [requiredRecord])
    if (!(await this.#heads.find(serviceCaller, { id }, { tx }))) throw requiredRecord.createRemovedError()
  }

  /** @throws NotFound; PreconditionFailed; Conflict for a shared concept, and while compositions of the template exist */
  async remove(caller: Caller, name: string, expected: ExpectedVersions): Promise<void> {
    const { id, key } = await this.#findNamed(caller, name)
    await runStoreTransaction(this.#context, async (tx) => {
      await this.#heads.remove(caller, { id }, { tx, expected })
      await this.#files.remove(caller, { id }, { tx })
      await lockForRemoval(this.#context, tx, lockOf(id))
      const live = { template: id, json: { $exists: true } }
      if (await this.#context.db.collection(Composition.collection).findOne(live, { session: tx.session }))
        throw new ServiceError('Conflict', {
          detail: 'Compositions of this template exist. Delete them first.',
        })
    })
    this.#context.definitions.delete(definitionCacheKey(key))
  }

  /** The list fields of all templates. */
  async all(caller: Caller): Promise<SavedRecord<TemplateHeadRecord>[]> {
    const heads: SavedRecord<TemplateHeadRecord>[] = []
    let cursor: string | undefined
    do {
      const page = await this.list(caller, { limit: 1000, cursor, count: false })
      heads.push(...page.items)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return heads
  }

  /**
   * Finds a template by its id, or by its concept, both as the list shows them. An id comes first.
   * @throws NotFound; Conflict when several templates share the concept
   */
  async #findNamed(caller: Caller, name: string): Promise<SavedRecord<TemplateHeadRecord>> {
    const byId = await this.#find(normalizeTemplateId(name))
    if (byId) return requireReadableHead(caller, byId)
    const heads = documentCollection(this.#context, TemplateHeads.collection)
    const [head, another] = await heads.find({ concept: name }).limit(2).toArray()
    if (another)
      throw new ServiceError('Conflict', {
        detail: 'Several templates have this concept. Name one of them by its template id.',
      })
    return requireReadableHead(caller, head)
  }

  async #find(key: string): Promise<ParseDocument | undefined> {
    return (await documentCollection(this.#context, TemplateHeads.collection).findOne({ key })) ?? undefined
  }

  async #readFile(caller: Caller, id: string): Promise<Buffer> {
    const { opt } = await this.#files.get(caller, { id })
    return gunzipFromBase64(opt)
  }

  async #requireCapacity(): Promise<void> {
    const heads = this.#context.db.collection(TemplateHeads.collection)
    if ((await heads.countDocuments({}, { limit: MAX_TEMPLATES })) >= MAX_TEMPLATES)
      throw new ServiceError('Conflict', {
        detail: `There are already ${MAX_TEMPLATES} templates, the maximum.`,
      })
  }
}

/** @throws NotFound */
function requireReadableHead(
  caller: Caller,
  document: ParseDocument | undefined,
): SavedRecord<TemplateHeadRecord> {
  if (!document || !isPermitted(document._rperm, caller)) throw new ServiceError('NotFound')
  return headFormat.fromStored(document)
}

const invalidInput = (path: string, code: string, message: string): ServiceError =>
  new ServiceError('InvalidInput', { violations: [{ path, code, message }] })

const invalidIdError = () =>
  invalidInput(
    'template_id.value',
    'pattern',
    'must contain no slash and no control character, and must not be one or two dots',
  )
