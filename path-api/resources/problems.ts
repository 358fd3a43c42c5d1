import { Type } from '@sinclair/typebox'
import { closedObject } from '../../schemas/common.ts'
import { type ErrorName, errorCatalogue, errorCode, ServiceError } from '../../schemas/errors.ts'
import { defineOperation } from '../operation/operation.ts'

const ProblemType = closedObject('ProblemType', 'A kind of problem', {
  code: Type.String({ description: 'Code of its problem documents', examples: ['not-found'] }),
  status: Type.Integer({ description: 'HTTP status', examples: [404] }),
  title: Type.String({ description: 'Title', examples: ['Not found'] }),
})

const problemTypes = new Map(
  (Object.keys(errorCatalogue) as ErrorName[]).map((name) => {
    const [status, title] = errorCatalogue[name]
    return [errorCode(name), { code: errorCode(name), status, title }]
  }),
)

export const problemTypeOperations = [
  defineOperation({
    id: 'getProblemType',
    method: 'get',
    path: '/problems/{code}',
    params: {
      code: Type.String({ description: 'Code of a problem', maxLength: 64, examples: ['not-found'] }),
    },
    summary: 'Get the explanation of an error type',
    description: 'The `type` of a problem document links to this description.',
    source: 'RFC 9457, 3.1.1: a type should lead to its description',
    extra: true,
    access: 'public',
    reply: [200, ProblemType],
    handle: ({ params: { code } }) => {
      const kind = problemTypes.get(code)
      if (kind === undefined) throw new ServiceError('NotFound')
      return kind
    },
  }),
]
