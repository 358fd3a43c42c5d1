import { Type } from '@sinclair/typebox'
import { closedObject } from '../../schemas/common.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { defineOperation } from '../operation/operation.ts'

const HealthStatus = closedObject('Health', 'The state of the service', {
  status: Type.Literal('up', { description: 'True if it responds', examples: ['up'] }),
})

const healthSource = 'probes for operators'

export const healthOperations = [
  defineOperation({
    id: 'getLiveness',
    method: 'get',
    path: '/health/live',
    summary: 'Check that the process runs',
    source: healthSource,
    extra: true,
    access: 'public',
    probe: true,
    reply: [200, HealthStatus],
    handle: () => ({ status: 'up' as const }),
  }),
  defineOperation({
    id: 'getReadiness',
    method: 'get',
    path: '/health/ready',
    summary: 'Check that requests can be served',
    description:
      'Returns 503 and names the failing dependency while the database or another part does not respond.',
    source: healthSource,
    extra: true,
    access: 'public',
    probe: true,
    reply: [200, HealthStatus],
    handle: async (_, { readiness }) => {
      const missing = Object.entries(await readiness()).filter(([, ready]) => !ready)
      if (missing.length === 0) return { status: 'up' as const }
      const detail = `Not ready: ${missing.map(([name]) => name).join(', ')}.`
      throw new ServiceError('Unavailable', { detail, retryAfter: 5 })
    },
  }),
]
