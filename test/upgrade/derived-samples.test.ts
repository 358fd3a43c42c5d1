import assert from 'node:assert/strict'
import { derivedFrom, derivingKinds, keptSamples, versionOf } from './derived-samples.ts'

const MEND =
  'it derives other fields than stored records have: raise derivationVersion in its rules, then run node dist/test/upgrade/derived-samples.js'

describe('the derived fields of', () => {
  const samplesByKind = keptSamples()

  for (const kind of derivingKinds())
    it(`${kind.name} are those of its derivation version`, () => {
      const { version, samples = [] } = samplesByKind[kind.name] ?? {}
      assert.equal(
        versionOf(kind),
        version,
        'keep samples of this version: node dist/test/upgrade/derived-samples.js',
      )
      assert.ok(samples.length > 0)
      for (const { values, derived } of samples) assert.deepEqual(derivedFrom(kind, values), derived, MEND)
    })
})
