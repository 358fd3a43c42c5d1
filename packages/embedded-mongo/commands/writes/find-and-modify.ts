/** findAndModify: finds one document, changes or removes it, and returns it. */
import type { Document } from 'bson'
import { compileProjection } from '../../language/results/projection.ts'
import type { StatementResult } from '../../storage/last-writes.ts'
import type { Query } from '../../storage/queries/query.ts'
import { isNullish, isTruthy } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { type Command, type CommandContext, targetCollection } from '../context.ts'
import { projectionOptions } from '../reads/reads.ts'
import { findEarlierResult, recordResults, runInOneSlice, runInSlices, type Statement } from './statement.ts'
import { checkUpdate, removeStatement, updateStatement } from './update-statements.ts'

type Show = (document: Document) => Document

export const findAndModify: Command = {
  transactional: true,
  options:
    'query sort remove update new fields upsert bypassDocumentValidation collation arrayFilters hint let',
  async run(context) {
    const { command, timer } = context
    const name = command.findAndModify === undefined ? 'findandmodify' : 'findAndModify'
    const { collection } = targetCollection(context, name)
    const remove = isTruthy(command.remove)
    const upsert = isTruthy(command.upsert)
    if (remove === !isNullish(command.update))
      fail(9, 'Either an update or remove=true must be specified, not both')
    if (remove && (upsert || isTruthy(command.new)))
      fail(9, "Cannot specify both 'new' or 'upsert' and 'remove'")
    if (!collection && upsert) await context.ensure(command[name])
    const { sort, collation, hint, let: variables } = command
    const query: Query = { filter: command.query ?? {}, sort, collation, hint, variables, timer, limit: 1 }
    const show: Show =
      compileProjection(command.fields, projectionOptions(context, collection, query)) ??
      ((document) => document)
    const shows = remove || !isTruthy(command.new) ? 'before' : 'after'
    const statement = remove ? removeStatement(command[name], query, true) : update(context, name, query)
    const result = await runStatement(context, { ...statement, shows })
    const returnedDocument = result[shows]
    const upserted = result.upsertedId === undefined ? {} : { upserted: result.upsertedId }
    const n = result.matched + Object.keys(upserted).length
    const existing = remove ? {} : { updatedExisting: result.matched > 0 }
    return {
      lastErrorObject: { n, ...existing, ...upserted },
      value: returnedDocument ? show(returnedDocument) : null,
      ok: 1,
    }
  },
}

const update = (context: CommandContext, name: string, query: Query): Statement => {
  const { update, arrayFilters, upsert } = context.command
  const change = {
    name: context.command[name],
    query,
    update,
    arrayFilters,
    multi: false,
    upsert: isTruthy(upsert),
  }
  if (!context.find(change.name)) checkUpdate(change)
  return updateStatement(context, change)
}

const runStatement = async (context: CommandContext, statement: Statement): Promise<StatementResult> => {
  const result = await context.write((view) => {
    const earlierResult = findEarlierResult(context, view, 0)
    if (earlierResult) return earlierResult
    const sliceResult = runInOneSlice(context, view, statement)
    recordResults(context, view, statement, [sliceResult])
    return sliceResult
  })
  return result ?? runInSlices(context, statement)
}
