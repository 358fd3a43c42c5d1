import { Type } from '@sinclair/typebox'
import { closed } from '../../schemas/common.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { operation } from '../operation/operation.ts'

const Health = closed('Health', 'The state of the service', {
  status: Type.Literal('up', { description: 'It answers', examples: ['up'] }),
})

const source = 'probes for operators'

export const health = [
  operation({
    id: 'getLiveness',
    method: 'get',
    path: '/health/live',
    summary: 'Check that the process runs',
    source,
    extra: true,
    access: 'public',
    reply: [200, Health],
    handle: () => ({ status: 'up' as const }),
  }),
  operation({
    id: 'getReadiness',
    method: 'get',
    path: '/health/ready',
    summary: 'Check that requests can be served',
    description: 'Answers 503 and names what is missing while the database or another part does not answer.',
    source,
    extra: true,
    access: 'public',
    reply: [200, Health],
    handle: async (_, { readiness }) => {
      const missing = Object.entries(await readiness()).filter(([, ready]) => !ready)
      if (missing.length === 0) return { status: 'up' as const }
      const detail = `Not ready: ${missing.map(([name]) => name).join(', ')}.`
      throw new ServiceError('Unavailable', { detail, retryAfter: 5 })
    },
  }),
]
