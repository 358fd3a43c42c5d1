import assert from 'node:assert/strict'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { createOwner, type Owner } from '../../harness/care/owners.ts'
import { assertProblemPlaces } from '../../harness/clients/path-client.ts'
import { measureProcessorTime } from '../../harness/service/processor-time.ts'

const image = (width = 60, height = 40) =>
  sharp({ create: { width, height, channels: 3, background: { r: 200, g: 30, b: 30 } } })
const place = { IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 22/1 0/1' }, IFD0: { Artist: 'Secret' } }

/** A PNG of 50,000 x 50,000 pixels in a few kilobytes: its header and one compressed row of zeros. */
function bomb(): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(50_000, 0)
  header.writeUInt32BE(50_000, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
  }
  const pixels = deflateSync(Buffer.alloc(1_000_000))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

describe('pictures', () => {
  let anna: Owner
  before(async () => {
    anna = await createOwner()
    await anna.call('GET', '')
  })
  const upload = (bytes: Buffer, type = 'image/png') =>
    anna.call('POST', 'picture', bytes, { 'content-type': type })

  for (const type of ['png', 'jpeg', 'webp'] as const) {
    it(`are stored as ${type} without metadata, upright and small`, async () => {
      const original = await image(3000, 2000)
        .withExif(place)
        .withMetadata({ orientation: 6 })
        [type]()
        .toBuffer()
      const { exif } = await sharp(original).metadata()
      assert.ok(exif)
      const uploaded = await upload(original, `image/${type}`)
      assert.equal(uploaded.status, 201, JSON.stringify(uploaded.body))
      const path = `/profile/${anna.mvUid}/picture`
      const { size, ...rest } = uploaded.body
      assert.deepEqual(rest, { href: path, type: `image/${type}`, width: 683, height: 1024 })
      assert.equal((await anna.call('GET', '')).body.picture, path)
      const got = await anna.call('GET', path)
      assert.equal(got.headers.get('content-type'), `image/${type}`)
      assert.equal(got.etag, uploaded.etag)
      assert.equal(got.body.length, size)
      const metadata = await sharp(got.body).metadata()
      assert.deepEqual(
        [metadata.width, metadata.height, metadata.exif, metadata.orientation],
        [683, 1024, undefined, undefined],
      )
      assert.ok(!got.body.includes('Secret'))
      assert.equal((await anna.call('GET', path, undefined, { 'if-none-match': got.etag })).status, 304)
    })
  }

  it('have the type of their content', async () => {
    const jpeg = await image().jpeg().toBuffer()
    const { body } = await upload(jpeg, 'image/png')
    assert.deepEqual([body.type, body.width, body.height], ['image/jpeg', 60, 40])
    assert.equal((await anna.call('GET', 'picture')).headers.get('content-type'), 'image/jpeg')
  })

  it('are refused if they are something else', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    const otherFormats = [
      svg,
      await image().gif().toBuffer(),
      await image().tiff().toBuffer(),
      Buffer.from('PK\x03\x04'),
    ]
    for (const bytes of otherFormats) assertProblemPlaces(await upload(bytes), 415, 'unsupported-media-type')
    assertProblemPlaces(await upload(svg, 'image/svg+xml'), 415, 'unsupported-media-type')
    assertProblemPlaces(await upload(Buffer.alloc(0)), 415, 'unsupported-media-type')
    const cut = (await image().png().toBuffer()).subarray(0, 60)
    assertProblemPlaces(await upload(cut), 422, 'rule-violated')
    assertProblemPlaces(
      await upload(Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), svg])),
      422,
      'rule-violated',
    )
  })

  it('are refused if too large, compressed or decompressed', async () => {
    assertProblemPlaces(await upload(Buffer.alloc(2 * 1024 * 1024 + 1)), 413, 'content-too-large')
    const ms = await measureProcessorTime(async () =>
      assertProblemPlaces(await upload(bomb()), 422, 'rule-violated'),
    )
    assert.ok(ms < 1_000, String(ms))
  })

  it('lose data that is hidden after their end', async () => {
    const png = Buffer.concat([await image().png().toBuffer(), Buffer.from('<script>hidden</script>')])
    assert.equal((await upload(png)).status, 201)
    assert.ok(!(await anna.call('GET', 'picture')).body.includes('hidden'))
  })

  it('are replaced and removed, and change the person’s version', async () => {
    const before = (await anna.call('GET', '')).etag
    const firstUpload = await upload(await image().png().toBuffer())
    assert.notEqual((await anna.call('GET', '')).etag, before)
    assertProblemPlaces(
      await anna.call('DELETE', 'picture', undefined, { 'if-match': '"999"' }),
      412,
      'precondition-failed',
    )
    assert.equal(
      (await anna.call('DELETE', 'picture', undefined, { 'if-match': firstUpload.etag })).status,
      204,
    )
    assert.equal((await anna.call('GET', '')).body.picture, null)
    assertProblemPlaces(await anna.call('GET', 'picture'), 404, 'not-found')
    assertProblemPlaces(await anna.call('DELETE', 'picture'), 404, 'not-found')
  })

  it('may be uploaded before any other profile data', async () => {
    const bob = await createOwner({ name: 'Bob' })
    const type = { 'content-type': 'image/png' }
    const { status } = await bob.call('POST', 'picture', await image().png().toBuffer(), type)
    assert.equal(status, 201)
  })
})
