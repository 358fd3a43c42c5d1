import { BSON, type Document } from 'mongodb'

const QUERY = 2004
const REPLY = 1
const MSG = 2013
const HEADER = 16

/** Splits bytes into complete messages of MongoDB's wire protocol and the rest. */
export function splitMessages(bytes: Buffer): { messages: Buffer[]; rest: Buffer } {
  const messages: Buffer[] = []
  let rest = bytes
  while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
    messages.push(rest.subarray(0, rest.readInt32LE(0)))
    rest = rest.subarray(rest.readInt32LE(0))
  }
  return { messages, rest }
}

const documentAt = (message: Buffer, at: number): Document =>
  BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)))

const opcodeOf = (message: Buffer): number => message.readInt32LE(12)

/** The command of a request with its document sequences. Also reads greetings in the old form. */
export function commandOf(message: Buffer): Document {
  if (opcodeOf(message) === QUERY) return documentAt(message, message.indexOf(0, HEADER + 4) + 1 + 8)
  let command: Document = {}
  let beside: Document = {}
  for (let position = HEADER + 4; position < message.length; ) {
    const size = message.readInt32LE(position + 1)
    if (message[position] === 0) command = documentAt(message, position + 1)
    else beside = { ...beside, ...sequenceAt(message, position + 5, position + 1 + size) }
    position += 1 + size
  }
  return { ...command, ...beside }
}

function sequenceAt(message: Buffer, from: number, end: number): Document {
  const name = message.toString('utf8', from, message.indexOf(0, from))
  const documents: Document[] = []
  for (let position = message.indexOf(0, from) + 1; position < end; position += message.readInt32LE(position))
    documents.push(documentAt(message, position))
  return { [name]: documents }
}

/** The document of an answer. */
export const replyDocumentOf = (message: Buffer): Document =>
  documentAt(message, opcodeOf(message) === REPLY ? HEADER + 20 : HEADER + 5)

/** An answer in the same form as the request. */
export function createReply(request: Buffer, answer: Document): Buffer {
  const body = BSON.serialize(answer)
  const old = opcodeOf(request) === QUERY
  const head = Buffer.alloc(HEADER + (old ? 20 : 5))
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(request.readInt32LE(4), 8)
  head.writeInt32LE(old ? REPLY : MSG, 12)
  if (old) head.writeInt32LE(1, HEADER + 16)
  return Buffer.concat([head, body])
}
