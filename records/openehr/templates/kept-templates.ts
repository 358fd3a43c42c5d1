import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { type Page, type PageOf, paged } from '../../store/reading/listing.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records } from '../../store/writing/transaction.ts'
import { Composition } from '../composition-record.ts'
import type { Template } from '../opt/constraints.ts'
import { readTemplate } from '../opt/read-template.ts'
import { type Archetype, ArchetypeUse, archetypesIn, treeOf } from './archetypes.ts'

/** What lists tell of a template. */
const Head = Type.Object({
  /** The template's id as it is looked for: however it is spaced and capitalised, it is the same one. */
  key: Type.String(),
  templateId: Type.String(),
  concept: Type.String(),
  archetypeId: Type.String(),
  archetypes: Type.Array(ArchetypeUse),
})
type Head = Static<typeof Head>

/** The template as it came, zipped, in Base64: apart, so that no list has to read it. */
const File = Type.Object({ opt: Type.String() })

const TemplateHeads = {
  collection: 'openehr.templates',
  schema: Head,
  lists: { byId: { by: [], sort: 'key', order: 'asc' } },
  indexes: [{ key: { key: 1 }, unique: true }],
} as const

const TemplateFiles = { collection: 'openehr.template_files', schema: File, lists: {} } as const

/** Everybody who is logged in may read templates; the operation has checked who may change them. */
const PERMISSIONS = { read: ['*'], write: ['role:modeller'] }

/** How many templates one service takes, so that what is made of all of them stays small. */
const MOST = 10_000

/** Read templates are kept, as long as their files are not larger than this together. */
const CACHED_BYTES = 32 * 1024 * 1024

const zipped = promisify(gzip)
const unzipped = promisify(gunzip)

const keyOf = (templateId: string): string => templateId.toLowerCase().replaceAll(/\s+/g, '')

/** A template, and what the database says of it. */
export interface KeptTemplate {
  head: Saved<Head>
  template: Template
}

/** The operational templates that modellers have stored. */
export class Templates {
  readonly #records: Records
  readonly #heads
  readonly #files
  /** By the id of the record: a template never changes, and one that replaces it is another record. */
  readonly #read = new LRUCache<string, Template>({ maxSize: CACHED_BYTES })

  constructor(records: Records) {
    this.#records = records
    this.#heads = new Store(records, TemplateHeads)
    this.#files = new Store(records, TemplateFiles)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#heads.indexes()]
  }

  /** @throws MalformedRequest, InvalidInput for what is no template; Conflict when there is one with its id */
  async add(caller: Caller, bytes: Uint8Array, id: string): Promise<Saved<Head>> {
    const template = readTemplate(bytes)
    const { templateId, concept, root } = template
    if (/[/\\\p{Cc}]/u.test(templateId)) throw unaddressable()
    const key = keyOf(templateId)
    const archetypes = archetypesIn(template)
    const head = { key, templateId, concept, archetypeId: root.archetype.id, archetypes }
    const opt = (await zipped(bytes)).toString('base64')
    return unlessMade(
      () =>
        inTransaction(this.#records, async (tx) => {
          await this.#requireRoom()
          await this.#files.create(caller, { opt }, PERMISSIONS, { tx, id })
          return this.#heads.create(caller, head, PERMISSIONS, { tx, id })
        }),
      () => this.#heads.get(caller, { id, key }),
    )
  }

  /** By their ids. @throws MalformedRequest for a cursor of another list */
  list(caller: Caller, page: PageOf): Promise<Page<Saved<Head>>> {
    return this.#heads.list(caller, 'byId', { where: {}, ...page })
  }

  /** @throws NotFound */
  async get(caller: Caller, templateId: string): Promise<KeptTemplate> {
    const head = await this.#head(caller, templateId)
    const kept = this.#read.get(head.id)
    if (kept) return { head, template: kept }
    const bytes = await this.#bytes(caller, head.id)
    const template = readTemplate(bytes)
    this.#read.set(head.id, template, { size: bytes.length })
    return { head, template }
  }

  /** The template as it came. @throws NotFound */
  async file(caller: Caller, templateId: string): Promise<{ head: Saved<Head>; bytes: Buffer }> {
    const head = await this.#head(caller, templateId)
    return { head, bytes: await this.#bytes(caller, head.id) }
  }

  /** What is made with a template holds it, so that nobody removes it at the same instant. */
  holding(id: string): { collection: string; id: string } {
    return { collection: TemplateHeads.collection, id }
  }

  /** @throws NotFound; PreconditionFailed; Conflict as long as there are compositions of it */
  async remove(caller: Caller, templateId: string, expected: Expected): Promise<void> {
    const { id } = await this.#head(caller, templateId)
    await inTransaction(this.#records, async (tx) => {
      await this.#heads.remove(caller, { id }, { tx, expected })
      await this.#files.remove(caller, { id }, { tx })
      const live = { template: id, json: { $exists: true } }
      if (await this.#records.db.collection(Composition.collection).findOne(live, { session: tx.session }))
        throw new ServiceError('Conflict', { detail: 'There are compositions of this template.' })
    })
  }

  /** The archetypes that the templates are made of, by their ids. @throws MalformedRequest for a foreign cursor */
  async archetypes(caller: Caller, { limit, cursor }: PageOf): Promise<Page<Archetype>> {
    const from = cursor === undefined ? '' : decodeCursor(ARCHETYPES, cursor).id
    const rest = (await this.#allArchetypes(caller)).filter(({ id }) => id > from)
    return paged(ARCHETYPES, rest, limit, ({ id }) => ({ value: null, id }), undefined)
  }

  /** One of them with its nodes, as the template shows them that has most of them. @throws NotFound */
  async archetype(caller: Caller, id: string) {
    const archetype = (await this.#allArchetypes(caller)).find((one) => one.id === id)
    if (!archetype) throw new ServiceError('NotFound')
    const trees = []
    for (const templateId of archetype.templates.slice(0, LOOKED_AT)) {
      const { template } = await this.get(caller, templateId)
      trees.push(treeOf(template, id))
    }
    const [largest] = trees.sort((a, b) => b.size - a.size)
    return { ...archetype, tree: largest?.tree }
  }

  async #allArchetypes(caller: Caller): Promise<Archetype[]> {
    const found = new Map<string, Archetype>()
    let cursor: string | undefined
    do {
      const page = await this.list(caller, { limit: 1000, cursor, count: false })
      for (const { templateId, archetypes } of page.items)
        for (const use of archetypes) {
          const known = found.get(use.id)
          if (known) known.templates.push(templateId)
          else found.set(use.id, { ...use, templates: [templateId] })
        }
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  async #head(caller: Caller, templateId: string): Promise<Saved<Head>> {
    const { items } = await this.#heads.list(caller, 'byId', { where: { key: keyOf(templateId) }, limit: 1 })
    if (!items[0]) throw new ServiceError('NotFound')
    return items[0]
  }

  async #bytes(caller: Caller, id: string): Promise<Buffer> {
    const { opt } = await this.#files.get(caller, { id })
    return unzipped(Buffer.from(opt, 'base64'))
  }

  async #requireRoom(): Promise<void> {
    const heads = this.#records.db.collection(TemplateHeads.collection)
    if ((await heads.countDocuments({}, { limit: MOST })) >= MOST)
      throw new ServiceError('Conflict', { detail: `There are already ${MOST} templates, the maximum.` })
  }
}

const ARCHETYPES = 'archetypes'

/** Templates of which an archetype's nodes are looked up. */
const LOOKED_AT = 20

const unaddressable = (): ServiceError => {
  const message = 'must contain no slash and no control character'
  return new ServiceError('InvalidInput', {
    violations: [{ path: 'template_id.value', code: 'pattern', message }],
  })
}
