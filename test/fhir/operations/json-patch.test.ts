import assert from 'node:assert/strict'
import { applyPatch, type PatchOperation } from '../../../fhir/requests/json-patch.ts'
import { ServiceError } from '../../../schemas/errors.ts'

const isRefused = (error: unknown) => error instanceof ServiceError && error.error === 'RuleViolated'

describe('a JSON Patch', () => {
  const doublingOf = (count: number): PatchOperation[] => [
    { op: 'add', path: '/list', value: ['text'] },
    ...Array.from({ length: count }, (): PatchOperation => ({ op: 'copy', from: '/list', path: '/list/-' })),
  ]

  it('gives the same result each time a transaction repeats it', () => {
    const patch: PatchOperation[] = [
      { op: 'add', path: '/list', value: [] },
      { op: 'add', path: '/list/-', value: 'one' },
      { op: 'copy', from: '/list', path: '/copy' },
      { op: 'add', path: '/list/-', value: 'two' },
      { op: 'move', from: '/list/1', path: '/moved' },
    ]
    const expected = { list: ['one'], copy: ['one'], moved: 'two' }
    assert.deepEqual(applyPatch({}, patch), expected)
    assert.deepEqual(applyPatch({}, patch), expected)
  })

  it('is refused if its copies grow without bounds', () => {
    assert.equal(applyPatch({ list: [] }, doublingOf(3)).list.length, 4)
    assert.throws(() => applyPatch({}, doublingOf(1000)), isRefused)
  })

  it('is refused if its copies or moves nest elements too deeply', () => {
    const levels = (op: 'copy' | 'move'): PatchOperation[] =>
      Array.from({ length: 40 }, (): PatchOperation[] => [
        { op: 'add', path: '/outer', value: { inner: {} } },
        { op, from: '/list', path: '/outer/inner/list' },
        { op, from: '/outer', path: '/list' },
      ]).flat()
    for (const op of ['copy', 'move'] as const)
      assert.throws(() => applyPatch({ list: ['text'] }, levels(op)), isRefused, op)
  })

  it('is refused without a value to add, and for the length of a list', () => {
    for (const operation of [
      { op: 'add', path: '/a' },
      { op: 'replace', path: '/list/0' },
      { op: 'test', path: '/list/length', value: 2 },
      { op: 'copy', from: '/list/length', path: '/a' },
      { op: 'remove', path: '/list/length' },
    ] as const)
      assert.throws(() => applyPatch({ list: [1, 2] }, [operation]), isRefused, JSON.stringify(operation))
  })
})
