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
