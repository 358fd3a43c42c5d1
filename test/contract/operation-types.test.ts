import assert from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import { answer } from '../../path-api/answer/answer.ts'
import { operation } from '../../path-api/operation/operation.ts'
import { closed } from '../../schemas/common.ts'

const Note = closed('TypedNote', 'A note', { title: Type.String({ description: 'Title' }) })
const about = { summary: 'x', source: 'a test', access: 'user', path: '/typed/{mvUid}' } as const

/** What must not compile; the compiler checks each `@ts-expect-error`, the test only that it was built. */
describe('the types of an operation', () => {
  it('refuse what the schemas refuse', () => {
    const operations = [
      operation({
        ...about,
        id: 'readInput',
        method: 'put',
        body: Note,
        query: { stars: Type.Optional(Type.Integer()) },
        reply: [200, Note],
        handle: ({ params, query, body }, { principal }) => {
          const known: [string, number | undefined, string, string] = [
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
          return { title: [known, unknownField, unknownParameter, unknownQuery].join() }
        },
      }),
      operation({
        ...about,
        id: 'wrongReply',
        method: 'get',
        reply: [200, Note],
        // @ts-expect-error the title is a string
        handle: () => ({ title: 5 }),
      }),
      operation({
        ...about,
        id: 'missingReply',
        method: 'get',
        reply: [200, Note],
        // @ts-expect-error the title is missing
        handle: async () => ({}),
      }),
      operation({
        ...about,
        id: 'missingVersion',
        method: 'get',
        reply: [200, Note, 'versioned'],
        // @ts-expect-error a versioned reply needs its version
        handle: () => answer({ title: 'a' }, {}),
      }),
      operation({
        ...about,
        id: 'nobodyIsLoggedIn',
        method: 'get',
        access: 'public',
        reply: [200, Note],
        // @ts-expect-error a public operation knows no principal
        handle: (_, { principal }) => ({ title: principal.mvUid }),
      }),
      operation({
        ...about,
        id: 'unknownError',
        method: 'get',
        reply: [204],
        // @ts-expect-error no such row in the catalogue of errors
        errors: ['NoSuchError'],
        handle() {},
      }),
      operation({
        ...about,
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
