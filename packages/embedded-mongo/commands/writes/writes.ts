/** insert, update, delete, findAndModify. */
import type { Document } from 'bson'
import { compileUpdate } from '../../language/updates/updater.ts'
import { changeCount, removeAll } from '../../storage/collections/records.ts'
import { find, type Query } from '../../storage/queries/query.ts'
import { Blocked } from '../../storage/transactions.ts'
import { asCommandError, fail } from '../../values/errors.ts'
import { decode, isObject, toNumber, truthy } from '../../values/values.ts'
import { type Command, type Context, target } from '../context.ts'
import { findAndModify } from './find-and-modify.ts'
import { applyUpdate, store } from './modify.ts'

const LARGEST_BATCH = 100_000

interface WriteErrors {
  writeErrors?: Document[]
}

/** Runs each statement of a batch; the first failure ends an ordered one. */
const eachStatement = <T>(
  context: Context,
  statements: T[],
  run: (statement: T, at: number) => void,
): WriteErrors => {
  const writeErrors: Document[] = []
  for (const [index, statement] of statements.entries()) {
    try {
      run(statement, index)
    } catch (error) {
      // In a transaction a failed statement undoes it all; a blocked one runs again as a whole.
      if (context.inTransaction || error instanceof Blocked) throw error
      const { code, message, extra } = asCommandError(error)
      writeErrors.push({ index, code, errmsg: message, ...extra })
      if (context.command.ordered !== false) break
    }
  }
  return writeErrors.length > 0 ? { writeErrors } : {}
}

const statementsOf = (command: Document, name: string): Document[] => {
  const list = command[name]
  if (!Array.isArray(list)) return fail(40414, `BSON field '${name}' is missing but a required field`)
  if (list.length === 0 || list.length > LARGEST_BATCH)
    fail(16, `Write batch sizes must be between 1 and ${LARGEST_BATCH}. Got ${list.length} operations.`)
  return list
}

const insert: Command = {
  transactional: true,
  options: 'documents ordered bypassDocumentValidation',
  async run(context) {
    const { command } = context
    const documents = statementsOf(command, 'documents') as unknown as Uint8Array[]
    const { ns } = target(context, 'insert')
    await context.ensure(command.insert)
    return context.write((view) => {
      const collection = context.find(command.insert) ?? fail(26, `ns does not exist: ${ns}`)
      let n = 0
      const errors = eachStatement(context, documents, (bytes) => {
        store(context, view, collection, decode(bytes), Buffer.from(bytes))
        n++
      })
      changeCount(view, collection, n)
      return { n, ...errors, ok: 1 }
    })
  },
}

const statementQuery = ({ command, deadline }: Context, statement: Document): Query => {
  if (!isObject(statement.q)) return fail(14, "BSON field 'q' is the wrong type, expected type 'object'")
  return {
    filter: statement.q,
    sort: statement.sort,
    collation: statement.collation,
    hint: statement.hint,
    variables: { ...command.let, ...statement.c },
    deadline,
  }
}

const update: Command = {
  transactional: true,
  options: 'updates ordered bypassDocumentValidation let',
  async run(context) {
    const { command } = context
    const updates = statementsOf(command, 'updates')
    const { collection: known } = target(context, 'update')
    if (!known && updates.some(({ upsert }) => truthy(upsert))) await context.ensure(command.update)
    return context.write((view) => {
      const collection = context.find(command.update)
      const result = { n: 0, nModified: 0, upserted: [] as Document[] }
      const errors = eachStatement(context, updates, (statement, index) => {
        checkStatement(
          statement,
          ['q', 'u', 'c', 'multi', 'upsert', 'arrayFilters', 'collation', 'hint', 'sort'],
          'update.updates',
        )
        const change = {
          query: statementQuery(context, statement),
          update: statement.u,
          arrayFilters: statement.arrayFilters,
          multi: truthy(statement.multi),
          upsert: truthy(statement.upsert),
        }
        if (!collection) {
          compileUpdate(change.update, { filter: change.query.filter, arrayFilters: change.arrayFilters })
          return
        }
        const { matched, modified, upsertedId } = applyUpdate(context, view, collection, change)
        result.n += matched + (upsertedId === undefined ? 0 : 1)
        result.nModified += modified
        if (upsertedId !== undefined) result.upserted.push({ index, _id: upsertedId })
      })
      const { upserted, ...numbers } = result
      return { ...numbers, ...(upserted.length > 0 && { upserted }), ...errors, ok: 1 }
    })
  },
}

const checkStatement = (statement: Document, options: string[], name: string): void => {
  for (const option of Object.keys(statement))
    if (!options.includes(option)) fail(40415, `BSON field '${name}.${option}' is an unknown field.`)
}

const deleteCommand: Command = {
  transactional: true,
  options: 'deletes ordered let',
  async run(context) {
    const deletes = statementsOf(context.command, 'deletes')
    target(context, 'delete')
    return context.write((view) => {
      const collection = context.find(context.command.delete)
      let n = 0
      const errors = eachStatement(context, deletes, (statement) => {
        checkStatement(statement, ['q', 'limit', 'collation', 'hint'], 'delete.deletes')
        const limit = toNumber(statement.limit)
        if (limit !== 0 && limit !== 1)
          fail(9, `The limit field in delete objects must be 0 or 1. Got ${limit}`)
        const query = { ...statementQuery(context, statement), limit }
        if (collection) n += removeAll(view, collection, [...find(view, collection, query)])
      })
      return { n, ...errors, ok: 1 }
    })
  },
}

export const writes: Record<string, Command> = {
  insert,
  update,
  delete: deleteCommand,
  findAndModify,
  findandmodify: findAndModify,
}
