/** findAndModify: one document found, changed or removed, and shown. */
import type { Document } from 'bson'
import { compileProjection } from '../../language/results/projection.ts'
import type { Collection } from '../../storage/collections/catalog.ts'
import { removeAll } from '../../storage/collections/records.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import { find, type Query } from '../../storage/queries/query.ts'
import { fail } from '../../values/errors.ts'
import { isNullish, truthy } from '../../values/values.ts'
import { type Command, type Context, target } from '../context.ts'
import { applyUpdate } from './modify.ts'

type Show = (document: Document) => Document

export const findAndModify: Command = {
  transactional: true,
  options:
    'query sort remove update new fields upsert bypassDocumentValidation collation arrayFilters hint let',
  async run(context) {
    const { command, deadline } = context
    const name = command.findAndModify === undefined ? 'findandmodify' : 'findAndModify'
    const { collection: known } = target(context, name)
    const [remove, upsert] = [truthy(command.remove), truthy(command.upsert)]
    if (remove === !isNullish(command.update))
      fail(9, 'Either an update or remove=true must be specified, not both')
    if (remove && (upsert || truthy(command.new)))
      fail(9, "Cannot specify both 'new' or 'upsert' and 'remove'")
    if (!known && upsert) await context.ensure(command[name])
    const { sort, collation, hint, let: variables } = command
    const query: Query = { filter: command.query ?? {}, sort, collation, hint, variables, deadline, limit: 1 }
    const show: Show = compileProjection(command.fields, query.filter) ?? ((document) => document)
    return context.write((view) => {
      const collection = context.find(command[name])
      if (!collection)
        return { lastErrorObject: { n: 0, ...(!remove && { updatedExisting: false }) }, value: null, ok: 1 }
      const run = remove ? findAndRemove : findAndUpdate
      return { ...run(context, view, collection, query, show), ok: 1 }
    })
  },
}

type Run = (
  context: Context,
  view: WritableView,
  collection: Collection,
  query: Query,
  show: Show,
) => Document

const findAndRemove: Run = (_context, view, collection, query, show) => {
  const matches = [...find(view, collection, query)]
  const value = matches[0] ? show(matches[0].document) : null
  return { lastErrorObject: { n: removeAll(view, collection, matches) }, value }
}

const findAndUpdate: Run = (context, view, collection, query, show) => {
  const { update, arrayFilters, upsert, new: after } = context.command
  const change = { query, update, arrayFilters, multi: false, upsert: truthy(upsert) }
  const changed = applyUpdate(context, view, collection, change)
  const upserted = changed.upsertedId === undefined ? {} : { upserted: changed.upsertedId }
  const n = changed.matched + Object.keys(upserted).length
  const shown = truthy(after) ? changed.after : changed.before
  return {
    lastErrorObject: { n, updatedExisting: changed.matched > 0, ...upserted },
    value: shown ? show(shown) : null,
  }
}
