/**
 * Samples of what the service derives from records, and what it has derived from them since which version. After a change
 * that is meant, raise `derivationVersion` in the kind's rules and keep the new ones:
 *
 *     npm run build && node dist/test/upgrade/derived-samples.js
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { ClassKind, Values } from '../../records/ehr-records/kind.ts'
import { CLASS_NAMES, classKindOf } from '../../records/kinds.ts'
import { isMeasurementKind } from '../../records/measurements/measurement.ts'
import { fromClassForm } from '../../schemas/forms/class-form.ts'
import { fromPathNames } from '../../schemas/forms/fields.ts'
import { arbitraryMeasurement } from '../harness/care/samples/arbitrary-measurements.ts'
import { exampleObject } from '../harness/care/samples/examples.ts'

interface Samples {
  version: number
  samples: { values: Values; derived: Values }[]
}

const FILE = 'test/upgrade/derived-samples.json'

export const keptSamples = (): Record<string, Samples> => JSON.parse(readFileSync(FILE, 'utf8'))

/** The kinds whose derived fields follow from the record alone. */
export const derivingKinds = (): ClassKind[] =>
  CLASS_NAMES.map(classKindOf).filter(({ rules }) => rules.derived !== undefined)

export const versionOf = ({ rules }: ClassKind): number => rules.derivationVersion ?? 1

/** As JSON has it. */
export const derivedFrom = ({ rules }: ClassKind, values: Values): Values =>
  JSON.parse(JSON.stringify(rules.derived?.(values)))

function valuesOf(kind: ClassKind): Values[] {
  if (isMeasurementKind(kind))
    return fc
      .sample(arbitraryMeasurement(kind), { seed: 1, numRuns: 25 })
      .map((values) => fromPathNames(kind.fields, { ...values, ehrId: 'e1', carePlanId: 'p1' }))
  return [fromClassForm(kind.fields, exampleObject(kind.name as (typeof CLASS_NAMES)[number]))]
}

function keepSamples(): void {
  const samplesOfKinds = derivingKinds().map((kind): [string, Samples] => [
    kind.name,
    {
      version: versionOf(kind),
      samples: valuesOf(kind).map((values) => ({ values, derived: derivedFrom(kind, values) })),
    },
  ])
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(samplesOfKinds), null, 1)}\n`)
}

if (fileURLToPath(import.meta.url) === argv[1]) keepSamples()
