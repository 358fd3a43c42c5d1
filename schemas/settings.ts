import { Type } from '@sinclair/typebox'

export const CarePlanSettings = Type.Unsafe<Record<string, unknown>>({
  $id: 'CarePlanSettings',
  type: 'object',
  description: 'Whatever clients keep for a care plan, in at most 64 KB of JSON',
  additionalProperties: true,
  examples: [{ 'chart.range': 30, reminders: { morning: true } }],
})
