import sharp, { type Sharp } from 'sharp'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Picture } from '../../../schemas/picture.ts'

/** Pixels that a picture may have before it is decoded: a decompression bomb ends here. */
const MOST_PIXELS = 25_000_000
/** Pixels of the longer side that are kept. */
const LONGEST_SIDE = 1024

export interface PictureFile {
  type: Picture['type']
  width: number
  height: number
  bytes: Buffer
}

type Format = readonly [
  magic: (bytes: Buffer) => boolean,
  type: Picture['type'],
  encode: (image: Sharp) => Sharp,
]

const text = (bytes: Buffer, from: number, to: number) => bytes.toString('latin1', from, to)

const formats: readonly Format[] = [
  [(bytes) => text(bytes, 0, 8) === '\x89PNG\r\n\x1a\n', 'image/png', (image) => image.png()],
  [(bytes) => text(bytes, 0, 3) === '\xff\xd8\xff', 'image/jpeg', (image) => image.jpeg({ quality: 90 })],
  [
    (bytes) => text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 12) === 'WEBP',
    'image/webp',
    (image) => image.webp({ quality: 90 }),
  ],
]

/**
 * Makes a picture anew from its pixels, so that nothing else of the file is left (EXIF, location, comments, what hides
 * behind the end): upright, in sRGB, at most 1024 pixels wide and high, of an animation the first image.
 *
 * @throws UnsupportedMediaType for what is, by its content, no PNG, JPEG or WebP
 * @throws RuleViolated for what cannot be decoded or has too many pixels
 */
export async function cleanPicture(bytes: Buffer): Promise<PictureFile> {
  const format = formats.find(([magic]) => magic(bytes))
  if (format === undefined) {
    throw new ServiceError('UnsupportedMediaType', {
      detail: 'The content is not a PNG, JPEG or WebP picture.',
    })
  }
  const [, type, encode] = format
  try {
    const image = sharp(bytes, { limitInputPixels: MOST_PIXELS, failOn: 'error' })
    const fitting = image
      .autoOrient()
      .resize({ width: LONGEST_SIDE, height: LONGEST_SIDE, fit: 'inside', withoutEnlargement: true })
    const { data, info } = await encode(fitting).toBuffer({ resolveWithObject: true })
    return { type, width: info.width, height: info.height, bytes: data }
  } catch (cause) {
    const message = `must be a whole picture of at most ${MOST_PIXELS / 1e6} million pixels`
    throw new ServiceError('RuleViolated', { violations: [{ path: '', code: 'picture', message }], cause })
  }
}
