import type { TSchema } from '@sinclair/typebox'
import type { PlanDocuments } from '../../records/registered/plan-documents.ts'
import type { ErrorName } from '../../schemas/errors.ts'
import { answer } from '../answer/answer.ts'
import { type Operation, operation } from '../operation/operation.ts'
import type { Services } from '../operation/services.ts'

/** What each care plan has one of, which is loaded and saved as a whole. */
interface PlanDocument {
  path: `/${'ehr' | 'med'}/{ehrId}/careplan/{careplanId}/${string}`
  /** In the operations' ids: `loadSettings`. */
  name: string
  source: string
  extra?: true
  schema: TSchema
  documentsOf(services: Services): Pick<PlanDocuments<object>, 'get' | 'save'>
  brokenBeside?: Operation['brokenBeside']
  saving: { method: 'post' | 'put'; description: string; errors: readonly ErrorName[] }
}

export function planDocument({
  name,
  schema,
  documentsOf,
  saving,
  brokenBeside,
  ...about
}: PlanDocument): Operation[] {
  const words = `the ${name.toLowerCase()} of a care plan`
  return [
    operation({
      ...about,
      id: `load${name}`,
      method: 'get',
      summary: `Load ${words}`,
      description: 'An empty object with version 0 when none have been saved yet.',
      access: 'plan:read',
      reply: [200, schema, 'versioned'],
      handle: async ({ params: { ehrId, careplanId } }, context) => {
        const { value, version } = await documentsOf(context).get(context.caller, {
          ehrId,
          carePlanId: careplanId,
        })
        return answer(value, { version })
      },
    }),
    operation({
      ...about,
      ...saving,
      id: `save${name}`,
      summary: `Save ${words} as a whole`,
      access: 'plan:write',
      body: schema,
      ...(brokenBeside && { brokenBeside }),
      limits: { bytes: 64 * 1024 },
      reply: [200, schema, 'versioned'],
      handle: async ({ params: { ehrId, careplanId }, body }, context) => {
        const { caller, expected } = context
        const place = { ehrId, carePlanId: careplanId }
        const { value, version } = await documentsOf(context).save(caller, place, body as object, {
          expected,
        })
        return answer(value, { version })
      },
    }),
  ]
}
