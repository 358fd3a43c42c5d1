import type { DataPoint, SchemaId } from '../../schemas/measurements/data-point.ts'
import { toLocalTime } from '../../schemas/time/iso-time.ts'
import type { Values } from '../ehr-records/kind.ts'
import { uuidFromText } from '../store/documents/ids.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import { omhUnitValue, type Quantity } from './quantities/quantity.ts'

type JsonObject = Record<string, unknown>

/** A kind of measurement in Open mHealth or IEEE 1752.1. */
export interface OmhBody {
  schema: SchemaId
  /** The modality of the value, if the record does not say so. */
  modality?: 'sensed' | 'self-reported'
  /** The whole body; undefined for a record that the schema cannot express. */
  body(record: Values): object | undefined
  /** The fields of a measurement that a body from elsewhere states; the others are undefined. */
  parse?(body: JsonObject): Values
  /** The member that makes a body another measurement than the records of the kind are. */
  findForeignMember?(body: JsonObject): string | undefined
}

/** A member of a body, in both directions. */
interface OmhMember {
  /** There is no body without this member. */
  isRequired?: true
  /** Its value in the bodies of all our records; another value means another measurement. */
  constant?: string
  format(record: Values): unknown
  parse(json: unknown): Values
}

/** A quantity with its unit. */
export const quantityMember = (quantity: Quantity, name: string): OmhMember => ({
  isRequired: true,
  format: (record) => omhUnitValue(quantity, name, record),
  parse(json) {
    const { value, unit } = asObject(json)
    return { [name]: value, [`${name}Unit`]: unit }
  },
})

/** A coded field with other words in Open mHealth; a code without such a word is omitted. */
export const codedMember = (field: string, words: ReadonlyMap<unknown, string>): OmhMember => ({
  format: (record) => words.get(record[field]),
  parse: (json) => ({ [field]: [...words].find(([, word]) => word === json)?.[0] }),
})

/** A member that is the same for all our records. */
export const constantMember = (word: string): OmhMember => ({
  constant: word,
  format: () => word,
  parse: () => ({}),
})

/** A body of Open mHealth's own schemas, all of which contain the time. */
export const defineOmhBody = (
  name: string,
  version: string,
  members: Readonly<Record<string, OmhMember>>,
): OmhBody => ({
  schema: { namespace: 'omh', name, version },
  body(record) {
    const memberValues = Object.entries(members).map(([member, { format, isRequired }]) => ({
      member,
      isRequired,
      value: format(record),
    }))
    if (memberValues.some(({ isRequired, value }) => isRequired && value === undefined)) return undefined
    const values = memberValues.map(({ member, value }) => [member, value])
    return { ...Object.fromEntries(values), effective_time_frame: { date_time: localTimeOf(record) } }
  },
  parse(body) {
    const { date_time, time_interval } = asObject(body.effective_time_frame)
    const timestamp = date_time ?? asObject(time_interval).start_date_time
    const values = Object.entries(members).map(([member, { parse: parseMember }]) =>
      parseMember(body[member]),
    )
    return Object.assign({ timestamp }, ...values)
  },
  findForeignMember: (body) =>
    Object.entries(members).find(
      ([member, { constant = body[member] }]) => body[member] !== undefined && body[member] !== constant,
    )?.[0],
})

/** The time of a record, in local time if its offset is known. */
export const localTimeOf = ({ timestamp, utcOffset }: Values): unknown =>
  typeof timestamp === 'string' && typeof utcOffset === 'string'
    ? toLocalTime(timestamp, utcOffset)
    : timestamp

const asObject = (json: unknown): JsonObject =>
  typeof json === 'object' && json !== null ? (json as JsonObject) : {}

const SOURCE_NAME = 'health-record-service'

/** A record as a data point; undefined if its schema cannot express the record. */
export function toDataPoint(
  { schema, modality: defaultModality, body }: OmhBody,
  collection: string,
  record: SavedRecord<Values & { ehrId: string }>,
): DataPoint | undefined {
  const content = body(record)
  if (!content) return undefined
  const { id, version, ehrId, createdAt, updatedAt } = record
  const uuid = uuidFromText(`${ehrId}/${collection}/${id}`)
  const modality = (record.source as OmhBody['modality']) ?? defaultModality
  const how = modality && { modality }
  const provenance = {
    source_name: SOURCE_NAME,
    source_data_point_id: `${id}::${SOURCE_NAME}::${version}`,
    source_creation_date_time: createdAt,
    source_last_modification_date_time: updatedAt,
    ...how,
  }
  const times = { source_creation_date_time: createdAt, creation_date_time: createdAt }
  const header = { uuid, id: uuid, schema_id: schema, ...times, user_id: ehrId, ...how }
  return { header: { ...header, acquisition_provenance: provenance }, body: { ...content } }
}
