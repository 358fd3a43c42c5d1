import { isUuid } from '../../../../schemas/validation/uuid.ts'

/**
 * EHR ids of the openEHR REST API, whose clients parse UUIDs. An EHR that was created there has a UUID. The id of
 * any other EHR has ten letters and digits; they are digits of base 62 in a UUID that begins with MARK. So both
 * directions are computed, and no two ids share a UUID (docs/decisions/openehr-rest.md).
 */
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = BigInt(DIGITS.length)
const OBJECT_ID = /^[A-Za-z0-9]{10}$/

/** The constant part of such a UUID, of version 8: 'health' in ASCII, and then EC. */
const MARK = '6865616c-7468-8ec0-8'
const MARKED_UUID = new RegExp(`${MARK}[0-9a-f]{3}-[0-9a-f]{12}`, 'gi')
const MAX_NUMBER = BASE ** 10n

/** Whether a UUID stands for an id of ten letters and digits, so that no client may choose it. */
export const isReserved = (uuid: string): boolean => uuid.toLowerCase().startsWith(MARK)

/** The EHR id for clients of the openEHR REST API. */
export function toRestEhrId(id: string): string {
  if (!OBJECT_ID.test(id)) return id
  const number = [...id].reduce((sum, letter) => sum * BASE + BigInt(DIGITS.indexOf(letter)), 0n)
  return MARK + number.toString(16).padStart(15, '0').replace(/^.{3}/, '$&-')
}

/** The EHR id of the stores for one that a client sent. */
export function fromRestEhrId(text: string): string {
  const uuid = text.toLowerCase()
  if (!isUuid(uuid)) return text
  if (!isReserved(uuid)) return uuid
  let number = BigInt(`0x${uuid.slice(MARK.length).replace('-', '')}`)
  if (number >= MAX_NUMBER) return uuid
  let id = ''
  for (let i = 0; i < 10; i++) {
    id = DIGITS[Number(number % BASE)] + id
    number /= BASE
  }
  return id
}

/** Converts the EHR ids in a query or in the values of its parameters. */
export const fromRestEhrIdsIn = (text: string): string => text.replace(MARKED_UUID, fromRestEhrId)
