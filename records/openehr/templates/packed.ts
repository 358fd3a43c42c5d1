import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

const zipped = promisify(gzip)
const unzipped = promisify(gunzip)

/** A file as a text of a record: zipped, in Base64. */
export const packed = async (bytes: Uint8Array): Promise<string> => (await zipped(bytes)).toString('base64')

export const unpacked = (text: string): Promise<Buffer> => unzipped(Buffer.from(text, 'base64'))
