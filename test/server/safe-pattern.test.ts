import assert from 'node:assert/strict'
import { isSafePattern } from '../../cloud/http/query/safe-pattern.ts'

describe('regular expressions of clients', () => {
  const safePatterns = [
    '',
    '^\\Qann@example.org\\E',
    '\\Q(a+)+$\\E',
    '^(high|low|normal)$',
    'blood.{0,50}pressure',
    '[A-Z][a-z]{1,12} \\d+',
    'blood.*',
    'blood( pressure.*)',
    'high.*|low.*',
    '^\\d{4}-\\d{2}-\\d{2}$',
    'colou?r',
    '(very )?high',
    '[()*+]{3}',
    '^\\p{L}+$',
    '^.*pressure$',
    '^[a-z]+@[a-z]+\\.com$',
    '^(a|b|ab){1,12}c',
    '\\A(blood|heart) \\S+ rate',
    '(?i)^[a-z ]*rate',
    '(?i)ann',
    'a{5}b{2}',
    '(low|high|normal){1,3}x',
    'a{,5}b',
    '[a*][+)]b\\*c\\+',
  ]
  for (const pattern of safePatterns)
    it(`accept ${pattern || 'an empty one'}`, () => {
      assert.equal(isSafePattern(pattern), true)
    })

  const unsafePatterns: Record<string, string> = {
    'a range without end': 'a{1001}',
    'ranges in ranges': '((a{100}){100}){100}',
    'many repetitions': '(?:a{500}b){4}',
    'a class that ends before it begins': '[z-a]',
    'a null character': '\u0000',
    'an endless repetition before something else': '[ab]*[bc]',
    'an endless repetition before the end of the text': 'a+$',
    'an endless repetition in the middle': 'blood.*pressure',
    'repetitions in repetitions': '(a+)+$',
    'alternatives in repetitions': '(a|aa)*$',
    'many ranges': 'a{0,200}a{0,200}b',
    'many options': 'a?a?a?a?a?a?a?b',
    'three endless repetitions': '^.*a.*b.*c',
    'an endless repetition after an optional beginning': '^?a*b',
    'an endless repetition after the beginning of a line': '(?m)^a*b',
    'an endless repetition in one of two alternatives': '^a|b*c',
    'an endless repetition after one of two beginnings': '(^|a)b*c',
    'a group repeated without an end': '^(ab)*$',
    'a group repeated without an end, after nothing': '^(ab)\\Q\\E*c',
    'a group repeated without an end, after a comment': '^(ab)(?#c)*c',
    'a group repeated without an end, after a blank': '(?x)^(ab) #(\n *c',
    'a repeated last character of a quotation': '\\Qab\\E*c',
    'a repeated class with a quotation': '[\\Q]\\Ea]*c',
    'a repeated class that begins with a bracket': '[]a]*c',
    'a lazy repetition': 'a*?b',
    'an end in the middle': 'a$b',
    'a look-ahead': '(?=a)b',
    'a look-behind': '(?<!a)b',
    'a back-reference': '(a)\\1',
    'a named group': '(?<n>a)\\k<n>',
    'half a group': '(a',
    'half a class': '[a',
    'too long a text': 'a'.repeat(201),
  }
  for (const [name, pattern] of Object.entries(unsafePatterns))
    it(`refuse ${name}`, () => {
      assert.equal(isSafePattern(pattern), false)
    })

  it('accept one more endless repetition for a property with a schema', () => {
    for (const pattern of ['blood.*pressure', '[ab]*[bc]', 'a+$', '.*pressure.*', '\\w+ing'])
      assert.deepEqual([isSafePattern(pattern), isSafePattern(pattern, '', 10_000)], [false, true], pattern)
    assert.equal(isSafePattern('a+b+c', '', 10_000), false)
  })

  it('accept the options that both databases know, each once', () => {
    for (const options of ['', 'i', 'imsx', undefined]) assert.equal(isSafePattern('a', options), true)
    for (const options of ['g', 'ii', 'u', 5, null, ['i']]) assert.equal(isSafePattern('a', options), false)
  })
})
