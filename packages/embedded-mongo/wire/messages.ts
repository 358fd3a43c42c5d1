/** MongoDB's wire protocol: decodes bytes to commands, and encodes answers. */
import { type Document, deserialize } from 'bson'
import { decode } from '../values/bson-values.ts'
import { checkFields } from '../values/raw-documents.ts'

const MAX_MESSAGE_BYTES = 48_000_000
const HEADER = 16
const OP_REPLY = 1
const OP_QUERY = 2004
const OP_MSG = 2013
const CHECKSUM_PRESENT = 1
const MORE_TO_COME = 2

/** The bytes are not a valid message, so the connection cannot continue. */
class WireError extends Error {}

export interface Request {
  id: number
  command: Document
  /** The reason to refuse the command, found while decoding it. */
  fault?: unknown
  /** The client wants no answer. */
  silent: boolean
  /** The client expects the old form of answers (OP_REPLY). */
  legacy: boolean
}

/** Splits the complete messages off the received bytes. @throws WireError */
export const splitMessages = (bytes: Buffer): { messages: Buffer[]; rest: Buffer } => {
  const messages: Buffer[] = []
  let at = 0
  while (bytes.length - at >= HEADER) {
    const length = bytes.readInt32LE(at)
    if (length < HEADER || length > MAX_MESSAGE_BYTES) throw new WireError(`message of ${length} bytes`)
    if (bytes.length - at < length) break
    messages.push(bytes.subarray(at, at + length))
    at += length
  }
  return { messages, rest: bytes.subarray(at) }
}

export const parseMessage = (message: Buffer): Request => {
  const code = message.readInt32LE(12)
  try {
    if (code === OP_MSG) return parseMsg(message)
    if (code === OP_QUERY) return parseQuery(message)
  } catch (error) {
    throw new WireError((error as Error).message)
  }
  throw new WireError(`operation code ${code}`)
}

const parseMsg = (message: Buffer): Request => {
  const flags = message.readUInt32LE(HEADER)
  if (flags & 0xffff & ~(CHECKSUM_PRESENT | MORE_TO_COME)) throw new WireError('unknown required flags')
  const end = message.length - (flags & CHECKSUM_PRESENT ? 4 : 0)
  let command: Document | undefined
  let fault: unknown
  const sequences: Document = {}
  for (let at = HEADER + 4; at < end; ) {
    const kind = message[at++]
    const size = message.readInt32LE(at)
    if (size < 5 || at + size > end) throw new WireError('section out of bounds')
    const section = message.subarray(at, at + size)
    if (kind === 0 && !command) {
      command = decodeCommand(section)
      fault = faultOf(section, 'documents')
    } else if (kind === 1) fault ??= parseSequence(section, sequences)
    else throw new WireError('unexpected section')
    at += size
  }
  if (!command) throw new WireError('no command')
  return {
    id: message.readInt32LE(4),
    command: Object.assign(command, sequences),
    fault,
    silent: (flags & MORE_TO_COME) !== 0,
    legacy: false,
  }
}

/** Documents to insert stay encoded. */
const decodeCommand = (bytes: Buffer): Document => {
  if (bytes.toString('latin1', 5, 12) !== 'insert\0') return decode(bytes)
  const options = {
    promoteValues: false,
    promoteLongs: false,
    bsonRegExp: true,
    fieldsAsRaw: { documents: true },
  }
  return deserialize(bytes, options)
}

/** Sequences that stay encoded, since they contain documents to insert. */
const ENCODED_SEQUENCES = ['documents', 'ops']

/** Returns the fault of the documents, if any. Documents to insert are checked later, one by one. */
const parseSequence = (section: Buffer, sequences: Document): unknown => {
  const nameEnd = section.indexOf(0, 4)
  if (nameEnd < 0) throw new WireError('document sequence without a name')
  const name = section.toString('utf8', 4, nameEnd)
  const documents: unknown[] = []
  let fault: unknown
  for (let at = nameEnd + 1; at < section.length; ) {
    const size = section.readInt32LE(at)
    if (size < 5 || at + size > section.length) throw new WireError('document out of bounds')
    const bytes = section.subarray(at, at + size)
    const isEncoded = ENCODED_SEQUENCES.includes(name)
    documents.push(isEncoded ? bytes : decode(bytes))
    if (!isEncoded) fault ??= faultOf(bytes)
    at += size
  }
  sequences[name] = documents
  return fault
}

const faultOf = (bytes: Buffer, except?: string): unknown => {
  try {
    checkFields(bytes, except)
    return undefined
  } catch (error) {
    return error
  }
}

/** Drivers use this form only for their first hello. */
const parseQuery = (message: Buffer): Request => {
  const nameEnd = message.indexOf(0, HEADER + 4)
  const ns = message.toString('utf8', HEADER + 4, nameEnd)
  const at = nameEnd + 9
  if (nameEnd < 0 || !ns.endsWith('.$cmd')) throw new WireError('OP_QUERY is answered for commands only')
  const size = message.readInt32LE(at)
  if (size < 5 || at + size > message.length) throw new WireError('query out of bounds')
  const { $query, ...query } = decode(message.subarray(at, at + size))
  const command = { ...($query ?? query), $db: ns.slice(0, -5) }
  return { id: message.readInt32LE(4), command, silent: false, legacy: true }
}

let lastId = 0

/** The bytes before an answer of that length. */
export const headOfReply = (request: Request, length: number): Buffer => {
  // OP_MSG: no flags, one section of kind 0. OP_REPLY: "await capable", no cursor, from 0, one document.
  const head = Buffer.alloc(HEADER + (request.legacy ? 20 : 5))
  lastId = (lastId + 1) & 0x7fffffff
  head.writeInt32LE(head.length + length, 0)
  head.writeInt32LE(lastId, 4)
  head.writeInt32LE(request.id, 8)
  head.writeInt32LE(request.legacy ? OP_REPLY : OP_MSG, 12)
  if (request.legacy) {
    head.writeInt32LE(8, HEADER)
    head.writeInt32LE(1, HEADER + 16)
  }
  return head
}
