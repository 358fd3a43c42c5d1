import { Type } from '@sinclair/typebox'

export const CarePlanSettings = Type.Unsafe<Record<string, unknown>>({
  $id: 'CarePlanSettings',
  type: 'object',
  description: 'Whatever a client keeps of a care plan, in 64 KB of JSON',
  additionalProperties: true,
  examples: [{ 'chart.range': 30, reminders: { morning: true } }],
})
