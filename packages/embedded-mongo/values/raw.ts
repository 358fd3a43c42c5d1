/** BSON put together from parts that are encoded already. */

/** A document with one more field, whose value is given as bytes. */
export const withField = (document: Buffer, type: 3 | 4, name: string, value: Buffer): Buffer => {
  const head = Buffer.from(`${String.fromCharCode(type)}${name}\0`)
  const length = document.length + head.length + value.length
  const size = Buffer.alloc(4)
  size.writeInt32LE(length)
  return Buffer.concat([size, document.subarray(4, -1), head, value, Buffer.of(0)], length)
}

/** A BSON array of documents that are encoded already. */
export const encodeArray = (documents: Buffer[]): Buffer => {
  const parts: Buffer[] = [Buffer.alloc(4)]
  documents.forEach((document, i) => {
    parts.push(Buffer.from(`\x03${i}\0`), document)
  })
  parts.push(Buffer.of(0))
  const bytes = Buffer.concat(parts)
  bytes.writeInt32LE(bytes.length)
  return bytes
}

/** A document with only those of its fields, found without reading the others. */
export const keepFields = (document: Buffer, names: readonly Buffer[]): Buffer => {
  const kept: number[] = []
  let length = 5
  for (let at = 4; document[at] !== 0; ) {
    const start = at
    const nameEnd = document.indexOf(0, start + 1)
    at = nameEnd + 1 + sizeOf(document, document[start] as number, nameEnd + 1)
    if (!names.some((name) => isAt(document, start + 1, nameEnd, name))) continue
    kept.push(start, at)
    length += at - start
  }
  const bytes = Buffer.allocUnsafe(length)
  bytes.writeInt32LE(length)
  let to = 4
  for (let i = 0; i < kept.length; i += 2) to += document.copy(bytes, to, kept[i], kept[i + 1])
  bytes[to] = 0
  return bytes
}

const isAt = (bytes: Buffer, start: number, end: number, name: Buffer): boolean => {
  if (end - start !== name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false
  return true
}

/** What values of a type take; those that are not here say it themselves. */
const SIZES = new Map([
  ...[0x01, 0x09, 0x11, 0x12].map((type) => [type, 8] as const),
  ...[0x06, 0x0a, 0x7f, 0xff].map((type) => [type, 0] as const),
  [0x07, 12],
  [0x08, 1],
  [0x10, 4],
  [0x13, 16],
])

const sizeOf = (bytes: Buffer, type: number, at: number): number => {
  const fixed = SIZES.get(type)
  if (fixed !== undefined) return fixed
  switch (type) {
    case 0x0b:
      return bytes.indexOf(0, bytes.indexOf(0, at) + 1) + 1 - at
    case 0x05:
      return bytes.readInt32LE(at) + 5
    case 0x0c:
      return bytes.readInt32LE(at) + 16
    case 0x02:
    case 0x0d:
    case 0x0e:
      return bytes.readInt32LE(at) + 4
    default:
      return bytes.readInt32LE(at)
  }
}
