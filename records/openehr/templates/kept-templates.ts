import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Expected } from '../../store/decisions.ts'
import { type Caller, isPermitted, type Permissions } from '../../store/documents/caller.ts'
import { documentsOf } from '../../store/documents/database.ts'
import { type ParseDocument, parseFormat, type Saved } from '../../store/documents/parse-format.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import { recent } from '../../store/reading/recent.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records } from '../../store/writing/transaction.ts'
import { type Held, takeTurnsToRemove } from '../../store/writing/turns.ts'
import { Composition } from '../composition-record.ts'
import { nodesOf, type Template } from '../opt/constraints.ts'
import { readTemplate } from '../opt/read-template.ts'
import { ArchetypeUse, archetypesIn } from './archetypes.ts'
import { packed, unpacked } from './packed.ts'

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

const headFormat = parseFormat(Head)

const TemplateFiles = { collection: 'openehr.template_files', schema: File, lists: {} } as const

/** Everybody who is logged in may read templates; the operation has checked who may change them. */
export const MODELLERS: Permissions = { read: ['*'], write: ['role:modeller'] }

const asService: Caller = {
  ...{ userId: '', roles: [], application: 'service', requestId: '' },
  unrestricted: true,
}

/** How many templates one service takes, so that what is made of all of them stays small. */
const MOST = 10_000

/** Read templates are kept, as long as their files are not larger than this together. */
const CACHED_BYTES = 32 * 1024 * 1024

const definitionOf = (key: string): string => `${TemplateHeads.collection}/${key}`

const keyOf = (templateId: string): string => templateId.toLowerCase().replaceAll(/\s+/g, '')

/** A template, and what the database says of it. */
export interface KeptTemplate {
  head: Saved<Head>
  template: Template
}

/** The operational templates: those that modellers have stored, and those that come with the service. */
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

  /** Makes those that come with the service and are not there yet; nobody removes them. */
  async addUsual(files: ReadonlyMap<string, string>): Promise<void> {
    const there = new Set((await this.all(asService)).map(({ key }) => key))
    for (const [templateId, xml] of files)
      if (!there.has(keyOf(templateId)))
        await this.add(asService, Buffer.from(xml), templateId, { read: ['*'], write: [] })
  }

  /** @throws MalformedRequest, InvalidInput for what is no template; Conflict when there is one with its id */
  async add(caller: Caller, bytes: Uint8Array, id: string, permissions = MODELLERS): Promise<Saved<Head>> {
    const template = readTemplate(bytes)
    const { templateId, concept, root } = template
    if (/[/\\\p{Cc}]/u.test(templateId)) throw unaddressable()
    if (isTooLarge(template)) throw tooLarge()
    const key = keyOf(templateId)
    const archetypes = archetypesIn(template)
    const head = { key, templateId, concept, archetypeId: root.archetype.id, archetypes }
    const opt = await packed(bytes)
    return unlessMade(
      () =>
        inTransaction(this.#records, async (tx) => {
          await this.#requireRoom()
          await this.#files.create(caller, { opt }, permissions, { tx, id })
          return this.#heads.create(caller, head, permissions, { tx, id })
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
    return this.#parsed(caller, headFor(caller, await this.#find(keyOf(templateId))))
  }

  /** As it was at most a moment ago: for who holds it while something is made with it. @throws NotFound */
  async toHold(caller: Caller, templateId: string): Promise<KeptTemplate> {
    const key = keyOf(templateId)
    const look = () => this.#find(key)
    return this.#parsed(
      caller,
      headFor(caller, await recent(this.#records.definitions, definitionOf(key), look)),
    )
  }

  async #parsed(caller: Caller, head: Saved<Head>): Promise<KeptTemplate> {
    const kept = this.#read.get(head.id)
    if (kept) return { head, template: kept }
    const bytes = await this.#bytes(caller, head.id)
    const template = readTemplate(bytes)
    this.#read.set(head.id, template, { size: bytes.length })
    return { head, template }
  }

  /** The template as it came. @throws NotFound */
  async file(caller: Caller, templateId: string): Promise<{ head: Saved<Head>; bytes: Buffer }> {
    const head = headFor(caller, await this.#find(keyOf(templateId)))
    return { head, bytes: await this.#bytes(caller, head.id) }
  }

  /** What is made with a template holds it, so that nobody removes it at the same instant. */
  holding(id: string): Held {
    return { collection: TemplateHeads.collection, id }
  }

  /** @throws NotFound; PreconditionFailed; Conflict as long as there are compositions of it */
  async remove(caller: Caller, templateId: string, expected: Expected): Promise<void> {
    const key = keyOf(templateId)
    const { id } = headFor(caller, await this.#find(key))
    await inTransaction(this.#records, async (tx) => {
      await this.#heads.remove(caller, { id }, { tx, expected })
      await this.#files.remove(caller, { id }, { tx })
      await takeTurnsToRemove(this.#records, tx, this.holding(id))
      const live = { template: id, json: { $exists: true } }
      if (await this.#records.db.collection(Composition.collection).findOne(live, { session: tx.session }))
        throw new ServiceError('Conflict', { detail: 'There are compositions of this template.' })
    })
    this.#records.definitions.delete(definitionOf(key))
  }

  /** What lists tell of all of them. */
  async all(caller: Caller): Promise<Saved<Head>[]> {
    const heads: Saved<Head>[] = []
    let cursor: string | undefined
    do {
      const page = await this.list(caller, { limit: 1000, cursor, count: false })
      heads.push(...page.items)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return heads
  }

  async #find(key: string): Promise<ParseDocument | undefined> {
    return (await documentsOf(this.#records, TemplateHeads.collection).findOne({ key })) ?? undefined
  }

  async #bytes(caller: Caller, id: string): Promise<Buffer> {
    const { opt } = await this.#files.get(caller, { id })
    return unpacked(opt)
  }

  async #requireRoom(): Promise<void> {
    const heads = this.#records.db.collection(TemplateHeads.collection)
    if ((await heads.countDocuments({}, { limit: MOST })) >= MOST)
      throw new ServiceError('Conflict', { detail: `There are already ${MOST} templates, the maximum.` })
  }
}

/** @throws NotFound */
function headFor(caller: Caller, found: ParseDocument | undefined): Saved<Head> {
  if (!found || !isPermitted(found._rperm, caller)) throw new ServiceError('NotFound')
  return headFormat.fromStored(found)
}

const invalid = (path: string, code: string, message: string): ServiceError =>
  new ServiceError('InvalidInput', { violations: [{ path, code, message }] })

const unaddressable = () =>
  invalid('template_id.value', 'pattern', 'must contain no slash and no control character')

/** Of one template, and in one place: examples, web templates and checks go through all of them while others wait. */
const MOST_NODES = 10_000
const MOST_TOGETHER = 1_000

function isTooLarge({ root }: Template): boolean {
  let count = 0
  for (const { attributes } of nodesOf(root)) {
    count += 1
    if (count > MOST_NODES || attributes.some(({ children }) => children.length > MOST_TOGETHER)) return true
  }
  return false
}

const tooLarge = () =>
  invalid('definition', 'nodes', `must have at most ${MOST_NODES} nodes, ${MOST_TOGETHER} in one place`)
