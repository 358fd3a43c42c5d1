import { CarePlanSettings } from '../../schemas/settings.ts'
import { answer } from '../answer/answer.ts'
import { operation } from '../operation/operation.ts'

const about = {
  path: '/med/{ehrId}/careplan/{careplanId}/settings',
  source: 'Endpoints, Medical data',
} as const

const placeOf = ({ ehrId, careplanId }: { ehrId: string; careplanId: string }) => ({
  ehrId,
  carePlanId: careplanId,
})

export const carePlanSettings = [
  operation({
    ...about,
    id: 'loadSettings',
    method: 'get',
    summary: 'Load the settings of a care plan',
    description: 'An empty object with version 0 when none have been saved yet.',
    access: 'plan:read',
    reply: [200, CarePlanSettings, 'versioned'],
    handle: async ({ params }, { caller, carePlans }) => {
      const { value, version } = await carePlans.settings.get(caller, placeOf(params))
      return answer(value, { version })
    },
  }),
  operation({
    ...about,
    id: 'saveSettings',
    method: 'post',
    summary: 'Save the settings of a care plan as a whole',
    description: 'Replaces the former settings, which are kept in the history.',
    access: 'plan:write',
    body: CarePlanSettings,
    limits: { bytes: 64 * 1024 },
    reply: [200, CarePlanSettings, 'versioned'],
    errors: ['PreconditionFailed'],
    handle: async ({ params, body }, { caller, carePlans, expected }) => {
      const { value, version } = await carePlans.settings.save(caller, placeOf(params), body, { expected })
      return answer(value, { version })
    },
  }),
]
