import assert from 'node:assert/strict'
import fc from 'fast-check'
import { etagOf, parseIfMatch } from '../../../path-api/reply/etag.ts'
import { createPathMatcher } from '../../../path-api/request/path-matcher.ts'
import { ipKey } from '../../../records/limits/rate-limiter.ts'
import { ServiceError } from '../../../schemas/errors.ts'

const assertFails = (work: () => unknown, error: string) =>
  assert.throws(work, (exception) => exception instanceof ServiceError && exception.error === error)

describe('If-Match', () => {
  it('contains the versions of its strong tags', () => {
    const tag = fc.record({ version: fc.nat(), weak: fc.boolean() })
    fc.assert(
      fc.property(fc.array(tag, { minLength: 1 }), fc.constantFrom(',', ', ', ' ,\t'), (tags, comma) => {
        const header = tags.map(({ version, weak }) => (weak ? 'W/' : '') + etagOf(version)).join(comma)
        const strong = tags.filter(({ weak }) => !weak).map(({ version }) => version)
        assert.deepEqual(parseIfMatch(header), strong)
      }),
    )
  })
  it('is a list of tags, or refused', () => {
    assert.equal(parseIfMatch(undefined), undefined)
    assertFails(() => parseIfMatch(' * '), 'PreconditionRequired')
    assert.deepEqual(parseIfMatch('"abc", ""'), [])
    for (const header of ['', '3', '"3', '3"', '"3" "4"', ',', '"3",', '*, "3"', "'3'"]) {
      assertFails(() => parseIfMatch(header), 'MalformedRequest')
    }
    fc.assert(
      fc.property(fc.string(), (header) => {
        try {
          parseIfMatch(header)
        } catch (error) {
          assert.ok(error instanceof ServiceError)
        }
      }),
    )
  })
})

describe('paths', () => {
  const route = (path: string) => ({ method: 'get' as const, path })
  it('return their parameters unchanged, whatever they contain', () => {
    const find = createPathMatcher([route('/a/{x}/b/{y}'), route('/a/fixed')])
    const segment = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !text.includes('\0'))
    fc.assert(
      fc.property(segment, segment, (x, y) => {
        const match = find(`/a/${encodeURIComponent(x)}/b/${encodeURIComponent(y)}`)
        assert.deepEqual(match?.values, [x, y])
      }),
    )
  })
  it('prefer literal segments, whatever the order of declaration', () => {
    const routes = ['/x/{a}', '/x/y', '/x/{a}/z', '/x/y/{b}', '/{c}/y'].map(route)
    fc.assert(
      fc.property(fc.shuffledSubarray(routes, { minLength: routes.length }), (shuffled) => {
        const find = createPathMatcher(shuffled)
        const path = (text: string) => find(text)?.routes.get('get')?.path
        assert.equal(path('/x/y'), '/x/y')
        assert.equal(path('/x/1'), '/x/{a}')
        assert.equal(path('/x/y/z'), '/x/y/{b}')
        assert.equal(path('/x/1/z'), '/x/{a}/z')
        assert.equal(path('/1/y'), '/{c}/y')
        assert.equal(path('/x//z'), undefined)
        assert.equal(path('/x/y/z/'), '/x/y/{b}')
      }),
    )
  })
  it('refuse a duplicate path', () => {
    assert.throws(() => createPathMatcher([route('/a/{x}'), route('/a/{y}')]), /declared twice/)
  })
  it('never fail except with a refusal', () => {
    const find = createPathMatcher([route('/a/{x}')])
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          find(`/a/${text}`)
        } catch (error) {
          assert.ok(error instanceof ServiceError)
        }
      }),
    )
  })
})

describe('rate-limited addresses', () => {
  it('are complete IPv4 addresses and /64 networks', () => {
    assert.equal(ipKey('192.0.2.7'), '192.0.2.7')
    assert.equal(ipKey('::ffff:192.0.2.7'), '192.0.2.7')
    assert.equal(ipKey('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
    assert.equal(ipKey('2001:db8:1:2::9'), '2001:db8:1:2')
    assert.equal(ipKey('2001:db8::1'), '2001:db8:0:0')
    assert.equal(ipKey('::1'), '0:0:0:0')
  })
})
