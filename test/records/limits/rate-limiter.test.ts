import assert from 'node:assert/strict'
import { ipKey } from '../../../records/limits/rate-limiter.ts'

describe('the addresses that are counted together', () => {
  it('are those of one /64 network of IPv6', () => {
    const keys = ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9', '2001:db8:1:2::'].map(ipKey)
    assert.equal(new Set(keys).size, 1)
    assert.notEqual(ipKey('2001:db8:1:3::9'), keys[0])
    assert.notEqual(ipKey('2001:db8::1:2'), keys[0])
  })

  it('are an address of IPv4 and its form in IPv6, and no other one', () => {
    assert.equal(ipKey('::ffff:192.0.2.1'), ipKey('192.0.2.1'))
    assert.equal(ipKey('::FFFF:192.0.2.1'), ipKey('192.0.2.1'))
    assert.notEqual(ipKey('::ffff:192.0.2.2'), ipKey('192.0.2.1'))
  })
})
