import assert from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import { defineOperation } from '../../path-api/operation/operation.ts'
import { replyWith } from '../../path-api/reply/reply.ts'
import { closedObject } from '../../schemas/common.ts'

const Note = closedObject('TypedNote', 'A note', { title: Type.String({ description: 'Title' }) })
const declaration = { summary: 'x', source: 'a test', access: 'user', path: '/typed/{mvUid}' } as const

/**
 * Code that must not compile. The compiler checks each `@ts-expect-error`; the test only checks that it was
 * built.
 */
describe('the types of an operation', () => {
  it('refuse what the schemas refuse', () => {
    const operations = [
      defineOperation({
        ...declaration,
        id: 'readInput',
        method: 'put',
        body: Note,
        query: { stars: Type.Optional(Type.Integer()) },
        reply: [200, Note],
        handle: ({ params, query, body }, { principal }) => {
          const values: [string, number | undefined, string, string] = [
            params.mvUid,
            query.stars,
            body.title,
            principal.mvUid,
          ]
          // @ts-expect-error the body has no such field
          const unknownField = body.colour
          // @ts-expect-error the path has no such parameter
          const unknownParameter = params.ehrId
          // @ts-expect-error the query has no such parameter
          const unknownQuery = query.moons
          return { title: [values, unknownField, unknownParameter, unknownQuery].join() }
        },
      }),
      defineOperation({
        ...declaration,
        id: 'wrongReply',
        method: 'get',
        reply: [200, Note],
        // @ts-expect-error the title is a string
        handle: () => ({ title: 5 }),
      }),
      defineOperation({
        ...declaration,
        id: 'missingReply',
        method: 'get',
        reply: [200, Note],
        // @ts-expect-error the title is missing
        handle: async () => ({}),
      }),
      defineOperation({
        ...declaration,
        id: 'missingVersion',
        method: 'get',
        reply: [200, Note, 'versioned'],
        // @ts-expect-error a versioned reply needs its version
        handle: () => replyWith({ title: 'a' }, {}),
      }),
      defineOperation({
        ...declaration,
        id: 'nobodyIsLoggedIn',
        method: 'get',
        access: 'public',
        reply: [200, Note],
        // @ts-expect-error a public operation knows no principal
        handle: (_, { principal }) => ({ title: principal.mvUid }),
      }),
      defineOperation({
        ...declaration,
        id: 'unknownError',
        method: 'get',
        reply: [204],
        // @ts-expect-error no such row in the catalogue of errors
        errors: ['NoSuchError'],
        handle() {},
      }),
      defineOperation({
        ...declaration,
        id: 'unknownAccess',
        method: 'get',
        // @ts-expect-error no such rule in access.ts
        access: 'anyone',
        reply: [204],
        handle() {},
      }),
    ]
    assert.equal(operations.length, 7)
  })
})
