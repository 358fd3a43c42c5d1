import assert from 'node:assert/strict'
import { isSafePattern } from '../../cloud/http/query/safe-pattern.ts'

describe('regular expressions of clients', () => {
  const safePatterns = [
    '',
    '^\\Qann@example.org\\E',
    '\\Q(a+)+$\\E',
    '^(high|low|normal)$',
    'blood.*pressure',
    '[A-Z][a-z]+ \\d+',
    '^\\d{4}-\\d{2}-\\d{2}$',
    'colou?r',
    '(very )?high',
    '[()*+]{3}',
    '(a+)+$',
    '(a|aa)*$',
    'a{0,200}a{0,200}b',
    '^\\p{L}+$',
    '(?i)ann',
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

  it('accept the options that both databases know, each once', () => {
    for (const options of ['', 'i', 'imsx', undefined]) assert.equal(isSafePattern('a', options), true)
    for (const options of ['g', 'ii', 'u', 5, null, ['i']]) assert.equal(isSafePattern('a', options), false)
  })
})
