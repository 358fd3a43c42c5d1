import type { Sharp } from 'sharp'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Picture } from '../../../schemas/profiles/picture.ts'

/** Maximum number of pixels of a picture; checked before decoding, to stop decompression bombs. */
const MAX_PIXELS = 25_000_000
/** Pixels of the longer side after scaling down. */
const MAX_SIDE_PIXELS = 1024

export interface PictureFile {
  type: Picture['type']
  width: number
  height: number
  bytes: Buffer
}

type PictureFormat = readonly [
  magic: (bytes: Buffer) => boolean,
  type: Picture['type'],
  encode: (image: Sharp) => Sharp,
]

const latin1Slice = (bytes: Buffer, from: number, to: number) => bytes.toString('latin1', from, to)

const pictureFormats: readonly PictureFormat[] = [
  [(bytes) => latin1Slice(bytes, 0, 8) === '\x89PNG\r\n\x1a\n', 'image/png', (image) => image.png()],
  [
    (bytes) => latin1Slice(bytes, 0, 3) === '\xff\xd8\xff',
    'image/jpeg',
    (image) => image.jpeg({ quality: 90 }),
  ],
  [
    (bytes) => latin1Slice(bytes, 0, 4) === 'RIFF' && latin1Slice(bytes, 8, 12) === 'WEBP',
    'image/webp',
    (image) => image.webp({ quality: 90 }),
  ],
]

/**
 * Encodes a picture again from its pixels, so that nothing else of the file remains: EXIF, location,
 * comments, bytes after the end. The result is upright, in sRGB, at most 1024 pixels wide and high; of an
 * animation the first image.
 *
 * @throws UnsupportedMediaType if the content is not PNG, JPEG or WebP
 * @throws RuleViolated if it cannot be decoded or has too many pixels
 */
export async function cleanPicture(bytes: Buffer): Promise<PictureFile> {
  const format = pictureFormats.find(([magic]) => magic(bytes))
  if (format === undefined) {
    throw new ServiceError('UnsupportedMediaType', {
      detail: 'The content is not a PNG, JPEG or WebP picture.',
    })
  }
  const [, type, encode] = format
  // Loaded on first use, so that the service starts quickly.
  const { default: sharp } = await import('sharp')
  try {
    const image = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
    const fitting = image
      .autoOrient()
      .resize({ width: MAX_SIDE_PIXELS, height: MAX_SIDE_PIXELS, fit: 'inside', withoutEnlargement: true })
    const { data, info } = await encode(fitting).toBuffer({ resolveWithObject: true })
    return { type, width: info.width, height: info.height, bytes: data }
  } catch (cause) {
    const message = `must be a complete picture of at most ${MAX_PIXELS / 1e6} million pixels`
    throw new ServiceError('RuleViolated', { violations: [{ path: '', code: 'picture', message }], cause })
  }
}
