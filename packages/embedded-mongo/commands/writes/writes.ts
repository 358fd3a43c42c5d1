/** insert, update, delete, findAndModify. */
import type { Document } from 'bson'
import type { WritableView } from '../../storage/disk/overlay.ts'
import type { StatementResult } from '../../storage/last-writes.ts'
import { decode, isTruthy } from '../../values/bson-values.ts'
import { createErrorDescriber, fail } from '../../values/errors.ts'
import { boolean, checkEach, checkKnown } from '../../values/options/option-types.ts'
import { type Command, type CommandContext, targetCollection } from '../context.ts'
import { bulkWrite } from './bulk-write.ts'
import { compileRemoval, compileUpdateStatement, insertInto } from './compile-statements.ts'
import { findAndModify } from './find-and-modify.ts'
import { type Outcome, runBatch, runInOneSlice, runInSlices, type Statement } from './statement.ts'

const MAX_BATCH_SIZE = 100_000

const statementsOf = (command: Document, name: string): Document[] => {
  const list = command[name]
  if (!Array.isArray(list)) return fail(40414, `BSON field '${name}' is missing but a required field`)
  if (list.length === 0 || list.length > MAX_BATCH_SIZE)
    fail(16, `Write batch sizes must be between 1 and ${MAX_BATCH_SIZE}. Got ${list.length} operations.`)
  return list
}

const writeErrors = (outcomes: Outcome[]): { writeErrors?: Document[] } => {
  const describe = createErrorDescriber()
  const rows = outcomes.flatMap(({ index, error }) => (error ? [{ index, ...describe(error) }] : []))
  return rows.length > 0 ? { writeErrors: rows } : {}
}

const insert: Command = {
  transactional: true,
  options: 'documents ordered bypassDocumentValidation',
  async run(context) {
    const { command } = context
    const documents = statementsOf(command, 'documents') as unknown as Uint8Array[]
    targetCollection(context, 'insert')
    await context.ensure(command.insert)
    const insertOne = (view: WritableView, index: number): StatementResult => {
      const bytes = documents[index] as Uint8Array
      return insertInto(context, view, command.insert, decode(bytes), Buffer.from(bytes))
    }
    const outcomes = await runBatch(context, documents.length, insertOne, () => fail(1, 'never longer'))
    return { n: outcomes.filter(({ result }) => result).length, ...writeErrors(outcomes), ok: 1 }
  },
}

/** Runs statements that find documents and change them. */
const runStatements = (
  context: CommandContext,
  statements: Document[],
  compile: (statement: Document) => Statement,
) => {
  const at = (position: number) => {
    const statement = compile(statements[position] as Document)
    statement.position = position
    if (context.retryable && !statement.single)
      fail(72, 'Cannot use retryable writes with multi=true or limit=0')
    return statement
  }
  return runBatch(
    context,
    statements.length,
    (view, index) => runInOneSlice(context, view, at(index)),
    (index) => runInSlices(context, at(index)),
  )
}

const updateOptions = ['q', 'u', 'c', 'multi', 'upsert', 'arrayFilters', 'collation', 'hint']

const update: Command = {
  transactional: true,
  options: 'updates ordered bypassDocumentValidation let',
  async run(context) {
    const { command } = context
    const updates = statementsOf(command, 'updates')
    checkStatements(updates, updateOptions, 'update.updates')
    const { collection: existing } = targetCollection(context, 'update')
    if (!existing && updates.some(({ upsert }) => isTruthy(upsert))) await context.ensure(command.update)
    const outcomes = await runStatements(context, updates, (statement) =>
      compileUpdateStatement(context, command.update, statement),
    )
    const upserted = outcomes.flatMap(({ index, result }) =>
      result?.upsertedId === undefined ? [] : [{ index, _id: result.upsertedId }],
    )
    const sum = (name: 'matched' | 'modified') =>
      outcomes.reduce((total, { result }) => total + (result?.[name] ?? 0), 0)
    return {
      n: sum('matched') + upserted.length,
      nModified: sum('modified'),
      ...(upserted.length > 0 && { upserted }),
      ...writeErrors(outcomes),
      ok: 1,
    }
  },
}

const flags = { multi: boolean, upsert: boolean }

/** A malformed statement makes the whole command invalid: nothing is carried out. @throws 14, 40415 */
const checkStatements = (statements: Document[], options: string[], name: string): void => {
  for (const statement of statements) {
    checkKnown(statement, name, options)
    checkEach(statement, name, flags)
  }
}

const deleteCommand: Command = {
  transactional: true,
  options: 'deletes ordered let',
  async run(context) {
    const deletes = statementsOf(context.command, 'deletes')
    checkStatements(deletes, ['q', 'limit', 'collation', 'hint'], 'delete.deletes')
    targetCollection(context, 'delete')
    const outcomes = await runStatements(context, deletes, (statement) =>
      compileRemoval(context, context.command.delete, statement),
    )
    const n = outcomes.reduce((total, { result }) => total + (result?.matched ?? 0), 0)
    return { n, ...writeErrors(outcomes), ok: 1 }
  },
}

export const writes: Record<string, Command> = {
  insert,
  update,
  delete: deleteCommand,
  bulkWrite,
  findAndModify,
  findandmodify: findAndModify,
}
