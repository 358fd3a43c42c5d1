import { Type } from '@sinclair/typebox'
import { closed } from '../../schemas/common.ts'
import { type ErrorName, errorCode, errors, ServiceError } from '../../schemas/errors.ts'
import { operation } from '../operation/operation.ts'

const ProblemType = closed('ProblemType', 'A kind of problem', {
  code: Type.String({ description: 'The `code` of its problem documents', examples: ['not-found'] }),
  status: Type.Integer({ description: 'Its HTTP status', examples: [404] }),
  title: Type.String({ description: 'What it means', examples: ['Not found'] }),
})

const kinds = new Map(
  (Object.keys(errors) as ErrorName[]).map((name) => {
    const [status, title] = errors[name]
    return [errorCode(name), { code: errorCode(name), status, title }]
  }),
)

export const problems = [
  operation({
    id: 'getProblemType',
    method: 'get',
    path: '/problems/{code}',
    params: {
      code: Type.String({ description: 'Code of a problem', maxLength: 64, examples: ['not-found'] }),
    },
    summary: 'Describe a kind of problem',
    description: 'What the `type` of a problem document points to.',
    source: 'RFC 9457, 3.1.1: a type should lead to its description',
    extra: true,
    access: 'public',
    reply: [200, ProblemType],
    handle: ({ params: { code } }) => {
      const kind = kinds.get(code)
      if (kind === undefined) throw new ServiceError('NotFound')
      return kind
    },
  }),
]
