import { Query } from 'mingo'
import { type Db, MongoServerError } from 'mongodb'

// biome-ignore lint/suspicious/noExplicitAny: stands in until the engine is there
type Doc = Record<string, any>
class Collection {
  docs: Doc[] = []
  async createIndex() {}
  find1(filter: Doc) {
    const q = new Query(filter)
    return this.docs.find((d) => q.test(d))
  }
  async insertOne(doc: Doc) {
    const at = this.docs.find((d) => (doc._id && d._id === doc._id) || (doc.key && d.key === doc.key))
    if (at) throw new MongoServerError({ message: 'E11000', code: 11000 })
    this.docs.push({ ...doc })
  }
  async findOne(filter: Doc) {
    const d = this.find1(filter)
    return d
      ? Object.fromEntries(Object.entries(d).map(([k, v]) => [k, Buffer.isBuffer(v) ? { buffer: v } : v]))
      : null
  }
  async updateOne(filter: Doc, change: Doc) {
    const d = this.find1(filter)
    if (d) {
      Object.assign(d, change.$set)
      for (const k of Object.keys(change.$unset ?? {})) delete d[k]
    }
    return { modifiedCount: d ? 1 : 0 }
  }
  find() {
    return { toArray: async () => this.docs.map((d) => ({ ...d })) }
  }
  async deleteOne(filter: Doc) {
    const d = this.find1(filter)
    this.docs = this.docs.filter((x) => x !== d)
  }
  async findOneAndUpdate(filter: Doc, change: Doc) {
    let d = this.find1(filter) as Doc
    if (!d) {
      d = { ...change.$setOnInsert, ...change.$set }
      await this.insertOne(d)
      d = this.docs.at(-1) as Doc
    }
    d!.points = (d!.points ?? 0) + (change.$inc?.points ?? 0)
    Object.assign(d!, change.$set)
    return d
  }
}
export function stubDb(): Db {
  const all = new Map<string, Collection>()
  return {
    collection: (name: string) => {
      if (!all.has(name)) all.set(name, new Collection())
      return all.get(name)
    },
  } as unknown as Db
}
