import { type TProperties, Type } from '@sinclair/typebox'
import { MEASUREMENTS } from '../../records/kinds.ts'
import { thresholdRulesOf } from '../../records/measurements/alerts/thresholds-of-plans.ts'
import { SERIES } from '../../records/user-data/typed-measurement.ts'
import { articled, closed } from '../../schemas/common.ts'
import { soundIn } from '../../schemas/violation.ts'
import { planDocument } from './plan-document.ts'

const sentence = 'must be the name of a preset, limits, or a set with bands'

/** Their rules are the records': a schema of so many forms would tell one fault in as many ways. */
const form = (of: string, names: readonly string[], published: readonly string[] = []) =>
  Type.Unsafe<unknown>({
    anyOf: [
      { type: 'string', description: 'A preset', sentence },
      {
        type: 'object',
        propertyNames: { pattern: '^[A-Za-z]+$', sentence },
        description: 'Limits, or bands',
        sentence,
      },
    ],
    sentence,
    description:
      `For ${of}: ${published.length > 0 ? `${published.join(', ')}; ` : ''}limits ` +
      `(${names.map((name) => `${name}Low, ${name}High`).join(', ')}, unit); or { name, unit, bands }`,
  })

const ofKinds: TProperties = Object.fromEntries(
  MEASUREMENTS.map(({ path, noun, thresholded: { names, presets } }) => [
    path,
    Type.Optional(form(articled(noun), names, Object.keys(presets))),
  ]),
)

/** What may be the name of a data type, and is none of ours. */
const TYPE_NAME = `^(?!(?:${Object.keys(ofKinds).join('|')})$)[a-z][a-z0-9_-]{0,63}$`

const Thresholds = {
  ...closed(
    'CarePlanThresholds',
    'Within which limits the measurements of a care plan should lie, by kind: a preset by its name, limits of the ' +
      'person, or bands of your own, as the function bloodPressureCondition takes them. Of bands of your own those ' +
      'whose severity is above 0 are outside.',
    ofKinds,
  ),
  patternProperties: { [TYPE_NAME]: form('a data type whose values are numbers', [SERIES]) },
  examples: [{ bloodpressure: 'esc2018', bodyweight: { weightLow: 60, weightHigh: 75, unit: 'kg' } }],
}

const rules = thresholdRulesOf(MEASUREMENTS)

export const carePlanThresholds = planDocument({
  path: '/ehr/{ehrId}/careplan/{careplanId}/thresholds',
  name: 'Thresholds',
  source: 'Events: a value that was too high or too low',
  extra: true,
  schema: Thresholds,
  documentsOf: ({ thresholds }) => thresholds,
  brokenBeside: (body, bySchema) =>
    Object.entries(soundIn(body, bySchema)).flatMap(
      ([name, thresholds]) => rules.get(name)?.(thresholds) ?? [],
    ),
  saving: {
    method: 'put',
    description:
      'From then on a measurement that is registered in the plan, or corrected, and lies outside of them makes an event of ' +
      'type `measurement-alert`, which everyone sees who sees the plan.',
    errors: ['RuleViolated', 'PreconditionFailed'],
  },
})
