import assert from 'node:assert/strict'
import { isSafePattern } from '../../cloud/gate/query/safe-pattern.ts'

describe('regular expressions of clients', () => {
  const taken = [
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
  ]
  for (const pattern of taken)
    it(`takes ${pattern || 'an empty one'}`, () => {
      assert.equal(isSafePattern(pattern), true)
    })

  const refused: Record<string, string> = {
    'a repeated group': '(a+)+$',
    'a repeated choice': '(a|aa)*$',
    'a group repeated often': '(a|b){50}',
    'too many stars': 'a*a*a*b',
    'too many ranges': '.{0,200}.{0,200}.{0,200}x',
    'a range without end': 'a{500}',
    'many options': `${'a?'.repeat(30)}${'a'.repeat(30)}`,
    'many choices': `${'(a|a)'.repeat(30)}$`,
    'a look-ahead': '(?=a)b',
    'a look-behind': '(?<!a)b',
    'a back-reference': '(a)\\1',
    'a named group': '(?<n>a)\\k<n>',
    'half a group': '(a',
    'half a class': '[a',
    'too long a text': 'a'.repeat(201),
  }
  for (const [name, pattern] of Object.entries(refused))
    it(`refuses ${name}`, () => {
      assert.equal(isSafePattern(pattern), false)
    })
})
