import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

const gzipAsync = promisify(gzip)
const gunzipAsync = promisify(gunzip)

/** Compresses a file to a text for a record: gzip in Base64. */
export const gzipToBase64 = async (bytes: Uint8Array): Promise<string> =>
  (await gzipAsync(bytes)).toString('base64')

export const gunzipFromBase64 = (text: string): Promise<Buffer> => gunzipAsync(Buffer.from(text, 'base64'))
