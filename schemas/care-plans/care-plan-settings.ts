import { Type } from '@sinclair/typebox'

export const CarePlanSettings = Type.Unsafe<Record<string, unknown>>({
  $id: 'CarePlanSettings',
  type: 'object',
  description: 'Settings that clients store for a care plan: any JSON object up to 64 KB',
  additionalProperties: true,
  examples: [{ 'chart.range': 30, reminders: { morning: true } }],
})
