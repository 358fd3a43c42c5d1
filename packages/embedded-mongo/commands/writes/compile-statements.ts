/** The statements of insert, update and delete, which bulkWrite contains, too. */
import type { Document } from 'bson'
import { changeCount } from '../../storage/collections/records.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import type { StatementResult } from '../../storage/last-writes.ts'
import type { Query } from '../../storage/queries/query.ts'
import { isNullish, isTruthy, toNumber } from '../../values/bson-values.ts'
import { fail, MissingCollection } from '../../values/errors.ts'
import { object } from '../../values/options/option-types.ts'
import type { CommandContext } from '../context.ts'
import type { Statement } from './statement.ts'
import { checkUpdate, removeStatement, storeDocument, updateStatement } from './update-statements.ts'

/** Inserts a document into the collection of that name, which another client may have dropped meanwhile. */
export const insertInto = (
  context: CommandContext,
  view: WritableView,
  name: string,
  document: Document,
  bytes: Buffer,
): StatementResult => {
  const collection = context.find(name)
  if (!collection) throw new MissingCollection(context.db, name)
  storeDocument(context, view, collection, document, bytes)
  changeCount(view, collection, 1)
  return { matched: 1, modified: 0 }
}

const statementQuery = ({ command, timer }: CommandContext, statement: Document, single: boolean): Query => {
  object(statement.q, 'q')
  return {
    filter: statement.q,
    collation: statement.collation,
    hint: statement.hint,
    variables: isNullish(statement.c) ? command.let : { ...command.let, ...statement.c },
    limit: single ? 1 : 0,
    timer,
  }
}

/** @param statement an element of `updates` */
export const compileUpdateStatement = (
  context: CommandContext,
  name: string,
  statement: Document,
): Statement => {
  if (!isNullish(statement.c) && !Array.isArray(statement.u))
    fail(51198, 'Constant values may only be specified for pipeline updates')
  const multi = isTruthy(statement.multi)
  const change = {
    name,
    query: statementQuery(context, statement, !multi),
    update: statement.u,
    arrayFilters: statement.arrayFilters,
    multi,
    upsert: isTruthy(statement.upsert),
  }
  if (!context.find(name)) checkUpdate(change)
  return updateStatement(context, change)
}

/** @param statement an element of `deletes` */
export const compileRemoval = (context: CommandContext, name: string, statement: Document): Statement => {
  const limit = toNumber(statement.limit)
  if (limit !== 0 && limit !== 1) fail(9, `The limit field in delete objects must be 0 or 1. Got ${limit}`)
  return removeStatement(name, statementQuery(context, statement, limit === 1), limit === 1)
}
