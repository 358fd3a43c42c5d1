import { type Static, Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { Caller } from '../../records/store/documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from '../../records/store/documents/database.ts'
import type { ParseDocument, SavedRecord } from '../../records/store/documents/parse-format.ts'
import { decodeCursor } from '../../records/store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../records/store/reading/pages.ts'
import { Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import { runStoreTransaction, type StoreContext } from '../../records/store/writing/transaction.ts'
import { MODELLER_PERMISSIONS } from '../../records/types/modeller-permissions.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { ArchetypeNode } from '../../schemas/openehr/template.ts'
import { readAdl } from '../adl/read-adl.ts'
import { gunzipFromBase64, gzipToBase64 } from './gzip.ts'
import { type Archetype, archetypeTree } from './template-archetypes.ts'
import type { TemplateStore } from './template-store.ts'

/** Stored under the archetype's id. */
const ArchetypeHeadRecord = Type.Object({ concept: Type.String(), rmType: Type.String() })
type ArchetypeHeadRecord = Static<typeof ArchetypeHeadRecord>

const AdlHeads = { collection: 'openehr.archetypes', schema: ArchetypeHeadRecord, lists: {} } as const

/** The archetype as it was uploaded, in a collection of its own so that lists need not read it. */
const AdlFiles = {
  collection: 'openehr.archetype_files',
  schema: Type.Object({ adl: Type.String() }),
  lists: {},
} as const

/** Maximum number of archetypes, so that a list of all of them stays small. */
const MAX_ARCHETYPES = 10_000

/** Maximum number of templates that are searched for an archetype's nodes. */
const MAX_TEMPLATES_READ = 20

const LIST_NAME = 'archetypes'

/** The archetypes in the templates, and those that modellers have stored in ADL. */
export class ArchetypeStore {
  readonly #context: StoreContext
  readonly #templates: TemplateStore
  readonly #heads
  readonly #files

  constructor(context: StoreContext, templates: TemplateStore) {
    this.#context = context
    this.#templates = templates
    this.#heads = new Store(context, AdlHeads)
    this.#files = new Store(context, AdlFiles)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#heads.indexes(), this.#files.indexes()]
  }

  /**
   * @param isRetry whether an earlier attempt of the same request may have stored it
   * @throws MalformedRequest, InvalidInput, RuleViolated for an invalid archetype; Conflict when its ADL is
   * already stored
   */
  async add(caller: Caller, bytes: Uint8Array, isRetry: boolean): Promise<Archetype> {
    const { id, concept, rmType } = readAdl(bytes)
    const adl = await gzipToBase64(bytes)
    try {
      await runStoreTransaction(this.#context, async (tx) => {
        await this.#requireCapacity()
        await this.#files.create(caller, { adl }, MODELLER_PERMISSIONS, { tx, id })
        await this.#heads.create(caller, { concept, rmType }, MODELLER_PERMISSIONS, { tx, id })
      })
    } catch (error) {
      const conflict =
        isDuplicateKeyError(error) || (error instanceof ServiceError && error.error === 'Conflict')
      if (!conflict || !isRetry) throw error
    }
    return this.#find(caller, id)
  }

  /** Lists the archetypes by id. @throws MalformedRequest for a cursor of another list */
  async list(caller: Caller, { limit, cursor }: PageRequest): Promise<Page<Archetype>> {
    const from = cursor === undefined ? '' : decodeCursor(LIST_NAME, cursor).id
    const rest = (await this.#listAll(caller)).filter(({ id }) => id > from)
    return createPage(LIST_NAME, rest, limit, ({ id }) => ({ value: null, id }), undefined)
  }

  /**
   * An archetype with its nodes: from its ADL, otherwise from the template with most of its nodes; null if
   * neither has any.
   * @throws NotFound
   */
  async get(caller: Caller, id: string) {
    const archetype = await this.#find(caller, id)
    return {
      ...archetype,
      tree: (await this.#ownTree(caller, id)) ?? (await this.#treeInTemplates(caller, archetype)),
    }
  }

  async #ownTree(caller: Caller, id: string): Promise<ArchetypeNode | undefined> {
    try {
      return archetypeTree(readAdl((await this.file(caller, id)).bytes), id).tree
    } catch (error) {
      // The archetype has no ADL, or ADL that was stored before the service could read nodes.
      if (error instanceof ServiceError && ['NotFound', 'RuleViolated', 'InvalidInput'].includes(error.error))
        return undefined
      throw error
    }
  }

  async #treeInTemplates(caller: Caller, { id, templates }: Archetype): Promise<ArchetypeNode | null> {
    const trees = []
    for (const templateId of templates.slice(0, MAX_TEMPLATES_READ)) {
      const { template } = await this.#templates.get(caller, templateId)
      trees.push(archetypeTree(template, id))
    }
    const [largest] = trees.sort((a, b) => b.size - a.size)
    return largest?.tree ?? null
  }

  /** The file as it was uploaded. @throws NotFound, also for an archetype that only templates contain */
  async file(caller: Caller, id: string): Promise<{ head: SavedRecord<ArchetypeHeadRecord>; bytes: Buffer }> {
    const head = await this.#heads.get(caller, { id })
    const { adl } = await this.#files.get(caller, { id })
    return { head, bytes: await gunzipFromBase64(adl) }
  }

  /** Deletes the archetype's ADL; templates keep the archetype. @throws NotFound; PreconditionFailed */
  async remove(caller: Caller, id: string, expected: ExpectedVersions): Promise<void> {
    await runStoreTransaction(this.#context, async (tx) => {
      await this.#heads.remove(caller, { id }, { tx, expected })
      await this.#files.remove(caller, { id }, { tx })
    })
  }

  async #find(caller: Caller, id: string): Promise<Archetype> {
    const archetype = (await this.#listAll(caller)).find((one) => one.id === id)
    if (!archetype) throw new ServiceError('NotFound')
    return archetype
  }

  async #listAll(caller: Caller): Promise<Archetype[]> {
    const headDocuments = (await this.#headDocuments().find().toArray()) as (ParseDocument &
      ArchetypeHeadRecord)[]
    const archetypesById = new Map<string, Archetype>(
      headDocuments.map(({ _id: id, concept, rmType }) => [id, { id, concept, rmType, templates: [] }]),
    )
    for (const { templateId, archetypes } of await this.#templates.all(caller))
      for (const use of archetypes) {
        const archetype = archetypesById.get(use.id)
        if (archetype) archetype.templates.push(templateId)
        else archetypesById.set(use.id, { ...use, templates: [templateId] })
      }
    return [...archetypesById.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  #headDocuments() {
    return documentCollection(this.#context, AdlHeads.collection)
  }

  async #requireCapacity(): Promise<void> {
    if ((await this.#headDocuments().countDocuments({}, { limit: MAX_ARCHETYPES })) >= MAX_ARCHETYPES)
      throw new ServiceError('Conflict', {
        detail: `There are already ${MAX_ARCHETYPES} archetypes, the maximum.`,
      })
  }
}
