import { createHash } from 'node:crypto'
import type { DataPoint, SchemaId } from '../../schemas/data-point.ts'
import type { Values } from '../registered/kind.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import { type Quantity, unitValue } from './quantities/quantity.ts'

type Json = Record<string, unknown>

/** What a kind of measurement is in Open mHealth, or in IEEE 1752.1. */
export interface OmhBody {
  schema: SchemaId
  /** How it comes about, where the record does not say it. */
  modality?: 'sensed' | 'self-reported'
  /** The whole body; undefined for a record of which the schema has no words. */
  body(record: Values): object | undefined
  /** What a body that anybody wrote says of a measurement, undefined where it says nothing. */
  read?(body: Json): Values
}

/** A member of a body, in both directions. */
interface Member {
  /** Without it there is no body. */
  needed?: true
  of(record: Values): unknown
  read(said: unknown): Values
}

/** A quantity with its unit. */
export const measured = (quantity: Quantity, name: string): Member => ({
  needed: true,
  of: (record) => unitValue(quantity, name, record),
  read(said) {
    const { value, unit } = objectIn(said)
    return { [name]: value, [`${name}Unit`]: unit }
  },
})

/** A field whose codes have other words there; what there is no word for is left out. */
export const worded = (field: string, words: ReadonlyMap<unknown, string>): Member => ({
  of: (record) => words.get(record[field]),
  read: (said) => ({ [field]: [...words].find(([, word]) => word === said)?.[0] }),
})

/** What is so of all that we have. */
export const always = (word: string): Member => ({ of: () => word, read: () => ({}) })

/** A body of Open mHealth's own schemas; they all say when it was. */
export const omh = (name: string, version: string, members: Readonly<Record<string, Member>>): OmhBody => ({
  schema: { namespace: 'omh', name, version },
  body(record) {
    const said = Object.entries(members).map(([member, { of, needed }]) => ({
      member,
      needed,
      value: of(record),
    }))
    if (said.some(({ needed, value }) => needed && value === undefined)) return undefined
    const values = said.map(({ member, value }) => [member, value])
    return { ...Object.fromEntries(values), effective_time_frame: { date_time: record.timestamp } }
  },
  read(body) {
    const { date_time, time_interval } = objectIn(body.effective_time_frame)
    const timestamp = date_time ?? objectIn(time_interval).start_date_time
    const values = Object.entries(members).map(([member, { read }]) => read(body[member]))
    return Object.assign({ timestamp }, ...values)
  },
})

const objectIn = (said: unknown): Json => (typeof said === 'object' && said !== null ? (said as Json) : {})

const SOURCE = 'health-record-service'

/** A record as a data point; undefined when its schema has no words for it. */
export function dataPoint(
  { schema, modality: usual, body }: OmhBody,
  collection: string,
  record: Saved<Values & { ehrId: string }>,
): DataPoint | undefined {
  const said = body(record)
  if (!said) return undefined
  const { id, version, ehrId, createdAt, updatedAt } = record
  const uuid = uuidOf(`${ehrId}/${collection}/${id}`)
  const modality = (record.source as OmhBody['modality']) ?? usual
  const how = modality && { modality }
  const provenance = {
    source_name: SOURCE,
    source_data_point_id: `${id}::${SOURCE}::${version}`,
    source_creation_date_time: createdAt,
    source_last_modification_date_time: updatedAt,
    ...how,
  }
  const times = { source_creation_date_time: createdAt, creation_date_time: createdAt }
  const header = { uuid, id: uuid, schema_id: schema, ...times, user_id: ehrId, ...how }
  return { header: { ...header, acquisition_provenance: provenance }, body: { ...said } }
}

/** The same UUID for the same text: version 8 of RFC 9562, of its SHA-256. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)]
  return [...parts, hex.slice(20, 32)].join('-')
}
