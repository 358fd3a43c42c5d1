import { type Static, Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { ArchetypeNode } from '../../../schemas/template.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentsOf, isDuplicate } from '../../store/documents/database.ts'
import type { ParseDocument, Saved } from '../../store/documents/parse-format.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { type Page, type PageOf, paged } from '../../store/reading/listing.ts'
import { Store } from '../../store/store.ts'
import { inTransaction, type Records } from '../../store/writing/transaction.ts'
import { readAdl } from '../adl/read-adl.ts'
import { type Archetype, treeOf } from './archetypes.ts'
import { MODELLERS, type Templates } from './kept-templates.ts'
import { packed, unpacked } from './packed.ts'

/** Under the archetype's id. */
const Head = Type.Object({ concept: Type.String(), rmType: Type.String() })
type Head = Static<typeof Head>

const AdlHeads = { collection: 'openehr.archetypes', schema: Head, lists: {} } as const

/** The archetype as it came: apart, so that no list has to read it. */
const AdlFiles = {
  collection: 'openehr.archetype_files',
  schema: Type.Object({ adl: Type.String() }),
  lists: {},
} as const

/** How many one service takes, so that a list of all of them stays small. */
const MOST = 10_000

/** Templates of which an archetype's nodes are looked up. */
const LOOKED_AT = 20

const LIST = 'archetypes'

/** The archetypes that the templates are made of, and those that modellers have stored in ADL. */
export class Archetypes {
  readonly #records: Records
  readonly #templates: Templates
  readonly #heads
  readonly #files

  constructor(records: Records, templates: Templates) {
    this.#records = records
    this.#templates = templates
    this.#heads = new Store(records, AdlHeads)
    this.#files = new Store(records, AdlFiles)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#heads.indexes(), this.#files.indexes()]
  }

  /**
   * @param again whether an earlier attempt of the same request may have done it
   * @throws MalformedRequest, InvalidInput, RuleViolated for what is no archetype; Conflict when its ADL is stored
   */
  async add(caller: Caller, bytes: Uint8Array, again: boolean): Promise<Archetype> {
    const { id, concept, rmType } = readAdl(bytes)
    const adl = await packed(bytes)
    try {
      await inTransaction(this.#records, async (tx) => {
        await this.#requireRoom()
        await this.#files.create(caller, { adl }, MODELLERS, { tx, id })
        await this.#heads.create(caller, { concept, rmType }, MODELLERS, { tx, id })
      })
    } catch (error) {
      const taken = isDuplicate(error) || (error instanceof ServiceError && error.error === 'Conflict')
      if (!taken || !again) throw error
    }
    return this.#one(caller, id)
  }

  /** By their ids. @throws MalformedRequest for a foreign cursor */
  async list(caller: Caller, { limit, cursor }: PageOf): Promise<Page<Archetype>> {
    const from = cursor === undefined ? '' : decodeCursor(LIST, cursor).id
    const rest = (await this.#all(caller)).filter(({ id }) => id > from)
    return paged(LIST, rest, limit, ({ id }) => ({ value: null, id }), undefined)
  }

  /**
   * One of them with its nodes: as its ADL has them, else as the template that has most of them; null: none of them can be read.
   * @throws NotFound
   */
  async get(caller: Caller, id: string) {
    const archetype = await this.#one(caller, id)
    return {
      ...archetype,
      tree: (await this.#ownTree(caller, id)) ?? (await this.#treeInTemplates(caller, archetype)),
    }
  }

  async #ownTree(caller: Caller, id: string): Promise<ArchetypeNode | undefined> {
    try {
      return treeOf(readAdl((await this.file(caller, id)).bytes), id).tree
    } catch (error) {
      // It is none in ADL, or one of those that were stored before their nodes were read.
      if (error instanceof ServiceError && ['NotFound', 'RuleViolated', 'InvalidInput'].includes(error.error))
        return undefined
      throw error
    }
  }

  async #treeInTemplates(caller: Caller, { id, templates }: Archetype): Promise<ArchetypeNode | null> {
    const trees = []
    for (const templateId of templates.slice(0, LOOKED_AT)) {
      const { template } = await this.#templates.get(caller, templateId)
      trees.push(treeOf(template, id))
    }
    const [largest] = trees.sort((a, b) => b.size - a.size)
    return largest?.tree ?? null
  }

  /** As it came. @throws NotFound, also for one that only templates have */
  async file(caller: Caller, id: string): Promise<{ head: Saved<Head>; bytes: Buffer }> {
    const head = await this.#heads.get(caller, { id })
    const { adl } = await this.#files.get(caller, { id })
    return { head, bytes: await unpacked(adl) }
  }

  /** Removes its ADL; templates keep theirs. @throws NotFound; PreconditionFailed */
  async remove(caller: Caller, id: string, expected: Expected): Promise<void> {
    await inTransaction(this.#records, async (tx) => {
      await this.#heads.remove(caller, { id }, { tx, expected })
      await this.#files.remove(caller, { id }, { tx })
    })
  }

  async #one(caller: Caller, id: string): Promise<Archetype> {
    const archetype = (await this.#all(caller)).find((one) => one.id === id)
    if (!archetype) throw new ServiceError('NotFound')
    return archetype
  }

  async #all(caller: Caller): Promise<Archetype[]> {
    const stored = (await this.#stored().find().toArray()) as (ParseDocument & Head)[]
    const found = new Map<string, Archetype>(
      stored.map(({ _id: id, concept, rmType }) => [id, { id, concept, rmType, templates: [] }]),
    )
    for (const { templateId, archetypes } of await this.#templates.all(caller))
      for (const use of archetypes) {
        const known = found.get(use.id)
        if (known) known.templates.push(templateId)
        else found.set(use.id, { ...use, templates: [templateId] })
      }
    return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  #stored() {
    return documentsOf(this.#records, AdlHeads.collection)
  }

  async #requireRoom(): Promise<void> {
    if ((await this.#stored().countDocuments({}, { limit: MOST })) >= MOST)
      throw new ServiceError('Conflict', { detail: `There are already ${MOST} archetypes, the maximum.` })
  }
}
