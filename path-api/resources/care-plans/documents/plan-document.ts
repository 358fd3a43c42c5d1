import type { TSchema } from '@sinclair/typebox'
import type { PlanDocuments } from '../../../../records/ehr-records/plan-documents.ts'
import type { ErrorName } from '../../../../schemas/errors.ts'
import { defineOperation, type Operation } from '../../../operation/operation.ts'
import type { Services } from '../../../operation/services.ts'
import { replyWith } from '../../../reply/reply.ts'

/** Options of a plan document: one per care plan, loaded and saved as a whole. */
interface PlanDocumentOptions {
  path: `/${'ehr' | 'med'}/{ehrId}/careplan/{careplanId}/${string}`
  /** Part of the operation ids: `saveSettings`. */
  name: string
  source: string
  extra?: true
  schema: TSchema
  documentsOf(services: Services): Pick<PlanDocuments<object>, 'get' | 'save'>
  furtherViolations?: Operation['furtherViolations']
  saving: { method: 'post' | 'put'; description: string; errors: readonly ErrorName[] }
}

export function definePlanDocumentOperations({
  name,
  schema,
  documentsOf,
  saving,
  furtherViolations,
  ...definition
}: PlanDocumentOptions): Operation[] {
  const words = `the ${name.replace(/(?!^)[A-Z]/g, ' $&').toLowerCase()} of a care plan`
  return [
    defineOperation({
      ...definition,
      id: `get${name}`,
      method: 'get',
      summary: `Get ${words}`,
      description: 'Returns an empty object with version 0 if no settings have been saved.',
      access: 'plan:read',
      reply: [200, schema, 'versioned'],
      handle: async ({ params: { ehrId, careplanId } }, context) => {
        const { value, version } = await documentsOf(context).get(context.caller, {
          ehrId,
          carePlanId: careplanId,
        })
        return replyWith(value, { version })
      },
    }),
    defineOperation({
      ...definition,
      ...saving,
      id: `save${name}`,
      summary: `Replace ${words}`,
      access: 'plan:write',
      body: schema,
      ...(furtherViolations && { furtherViolations }),
      limits: { bytes: 64 * 1024 },
      reply: [200, schema, 'versioned'],
      handle: async ({ params: { ehrId, careplanId }, body }, context) => {
        const { caller, ifMatch } = context
        const parentIds = { ehrId, carePlanId: careplanId }
        const { value, version } = await documentsOf(context).save(caller, parentIds, body as object, {
          expected: ifMatch,
        })
        return replyWith(value, { version })
      },
    }),
  ]
}
