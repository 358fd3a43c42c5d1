/** findAndModify: one document found, changed or removed, and shown. */
import type { Document } from 'bson'
import type { Collection } from '../catalog.ts'
import { fail } from '../errors.ts'
import { compileProjection } from '../projection.ts'
import { find, type Query } from '../query.ts'
import type { WritableView } from '../storage.ts'
import { isNullish, truthy } from '../values.ts'
import { type Command, type Context, target } from './context.ts'
import { applyUpdate, removeAll } from './modify.ts'

export const findAndModify: Command = {
  transactional: true,
  options: [
    'query',
    'sort',
    'remove',
    'update',
    'new',
    'fields',
    'upsert',
    'bypassDocumentValidation',
    'collation',
    'arrayFilters',
    'hint',
    'let',
  ],
  async run(context) {
    const { command, deadline } = context
    const name = command.findAndModify === undefined ? 'findandmodify' : 'findAndModify'
    const { collection: known } = target(context, name)
    if (truthy(command.remove) === !isNullish(command.update))
      fail(
        9,
        truthy(command.remove)
          ? 'Cannot specify both an update and remove=true'
          : 'Either an update or remove=true must be specified',
      )
    if (truthy(command.remove) && (truthy(command.upsert) || truthy(command.new)))
      fail(9, "Cannot specify both 'new' or 'upsert' and 'remove'")
    if (!known && truthy(command.upsert)) await context.ensure(command[name])
    const { sort, collation, hint, let: variables } = command
    const query: Query = { filter: command.query ?? {}, sort, collation, hint, variables, deadline, limit: 1 }
    const project = compileProjection(command.fields, query.filter) ?? ((document: Document) => document)
    return context.write((view) => {
      const collection = context.find(command[name])
      if (!collection)
        return {
          lastErrorObject: { n: 0, ...(!command.remove && { updatedExisting: false }) },
          value: null,
          ok: 1,
        }
      return truthy(command.remove)
        ? findAndRemove(view, collection, query, project)
        : findAndUpdate(context, view, collection, query, project)
    })
  },
}

const findAndRemove = (
  view: WritableView,
  collection: Collection,
  query: Query,
  project: (document: Document) => Document,
): Document => {
  const matches = [...find(view, collection, query)]
  const value = matches[0] ? project(matches[0].document) : null
  return { lastErrorObject: { n: removeAll(view, collection, matches) }, value, ok: 1 }
}

const findAndUpdate = (
  context: Context,
  view: WritableView,
  collection: Collection,
  query: Query,
  project: (document: Document) => Document,
): Document => {
  const { command } = context
  const change = {
    query,
    update: command.update,
    arrayFilters: command.arrayFilters,
    multi: false,
    upsert: truthy(command.upsert),
  }
  const { matched, before, after, upsertedId } = applyUpdate(context, view, collection, change)
  const shown = truthy(command.new) ? after : before
  const n = matched + (upsertedId === undefined ? 0 : 1)
  const upserted = upsertedId === undefined ? {} : { upserted: upsertedId }
  return {
    lastErrorObject: { n, updatedExisting: matched > 0, ...upserted },
    value: shown ? project(shown) : null,
    ok: 1,
  }
}
