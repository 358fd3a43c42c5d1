/** bulkWrite: writes to several collections in one command, as MongoDB 8 has it; here of one database. */
import { type Document, Int32, Long } from 'bson'
import type { WritableView } from '../../storage/disk/overlay.ts'
import type { StatementResult } from '../../storage/last-writes.ts'
import { decode, encode, isTruthy, toNumber } from '../../values/bson-values.ts'
import { createErrorDescriber, fail } from '../../values/errors.ts'
import { boolean, checkEach, checkKnown, object } from '../../values/options/option-types.ts'
import { checkFields, rawDocumentField } from '../../values/raw-documents.ts'
import { type Command, type CommandContext, targetCollection } from '../context.ts'
import { compileRemoval, compileUpdateStatement, insertInto } from './compile-statements.ts'
import { type Outcome, runBatch, runInOneSlice, runInSlices, type Statement } from './statement.ts'

type Kind = 'insert' | 'update' | 'delete'

/** One element of `ops`. */
interface Operation {
  kind: Kind
  /** The name of its collection. */
  name: string
  fields: Document
  /** The encoded document of an insert. */
  bytes: Buffer | undefined
}

const OPTIONS: Readonly<Record<Kind, string[]>> = {
  insert: ['insert', 'document'],
  update: [
    'update',
    'filter',
    'updateMods',
    'multi',
    'upsert',
    'arrayFilters',
    'collation',
    'hint',
    'constants',
  ],
  delete: ['delete', 'filter', 'multi', 'collation', 'hint'],
}

const MAX_OPERATIONS = 100_000

const listOf = (command: Document, name: string): unknown[] => {
  const list = command[name]
  if (!Array.isArray(list))
    return fail(40414, `BSON field 'bulkWrite.${name}' is missing but a required field`)
  if (list.length === 0 || list.length > MAX_OPERATIONS)
    fail(16, `Write batch sizes must be between 1 and ${MAX_OPERATIONS}. Got ${list.length} operations.`)
  return list
}

const namespacesOf = (command: Document): string[] =>
  listOf(command, 'nsInfo').map((one) => {
    object(one, 'nsInfo')
    const { ns } = one as Document
    return typeof ns === 'string' ? ns : fail(14, "BSON field 'bulkWrite.nsInfo.ns' is the wrong type")
  })

/** The database of all its collections. @throws 13 outside `admin`, 115 for several databases */
export const databaseOfBulkWrite = (command: Document): string => {
  if (command.$db !== 'admin') fail(13, 'bulkWrite may only be run against the admin database.')
  const [db = '', ...others] = new Set(namespacesOf(command).map((ns) => ns.split('.', 1)[0] ?? ''))
  if (others.length > 0) fail(115, 'bulkWrite of several databases is not supported by this engine')
  return db
}

/** @param entry as it came: encoded in a sequence, decoded in an array of the command */
const readOperation = (entry: unknown, names: readonly string[]): Operation => {
  const bytes = entry instanceof Uint8Array ? (entry as Buffer) : undefined
  if (bytes) checkFields(bytes, 'document')
  const operation: Document = bytes ? decode(bytes) : (entry as Document)
  const kind = Object.keys(operation)[0] as Kind
  if (!Object.hasOwn(OPTIONS, kind)) fail(40415, `BSON field 'bulkWrite.ops.${kind}' is an unknown field.`)
  checkKnown(operation, 'bulkWrite.ops', OPTIONS[kind])
  checkEach(operation, 'bulkWrite.ops', { multi: boolean, upsert: boolean, document: object, filter: object })
  const name = names[toNumber(operation[kind])] ?? fail(2, `BulkWrite ops entry has an invalid nsInfo index.`)
  if (kind !== 'insert') return { kind, name, fields: operation, bytes: undefined }
  object(operation.document, 'bulkWrite.ops.document')
  return {
    kind,
    name,
    fields: operation,
    bytes: (bytes && rawDocumentField(bytes, DOCUMENT)) ?? encode(operation.document),
  }
}

const DOCUMENT = Buffer.from('document')

/** The statement of an update or a removal, in the form that their own commands have. */
const compile = (context: CommandContext, { kind, name, fields }: Operation, position: number): Statement => {
  const { filter: q, updateMods: u, constants: c, multi, ...rest } = fields
  const statement =
    kind === 'update'
      ? compileUpdateStatement(context, name, { ...rest, q, u, c, multi })
      : compileRemoval(context, name, { ...rest, q, limit: isTruthy(multi) ? 0 : 1 })
  statement.position = position
  if (context.retryable && !statement.single) fail(72, 'Cannot use retryable writes with multi=true')
  return statement
}

export const bulkWrite: Command = {
  transactional: true,
  options: 'ops nsInfo ordered errorsOnly bypassDocumentValidation cursor',
  async run(context) {
    const { command, db } = context
    const names = namespacesOf(command).map((ns) => ns.slice(db.length + 1))
    for (const name of names) targetCollection({ ...context, command: { name } }, 'name')
    const operations = listOf(command, 'ops').map((one) => readOperation(one, names))
    for (const { kind, name, fields } of operations)
      if (kind === 'insert' || isTruthy(fields.upsert)) await context.ensure(name)
    const runOne = (view: WritableView, index: number): StatementResult | undefined => {
      const operation = operations[index] as Operation
      const { kind, name, fields, bytes } = operation
      return kind === 'insert'
        ? insertInto(context, view, name, fields.document, bytes as Buffer)
        : runInOneSlice(context, view, compile(context, operation, index))
    }
    const outcomes = await runBatch(context, operations.length, runOne, (index) =>
      runInSlices(context, compile(context, operations[index] as Operation, index)),
    )
    return replyOf(command, operations, outcomes)
  },
}

/** The counts, and a row for each operation or for each error. */
const replyOf = (
  command: Document,
  operations: readonly Operation[],
  outcomes: readonly Outcome[],
): Document => {
  const sum = (kind: Kind, name: 'matched' | 'modified') =>
    outcomes.reduce(
      (total, { index, result }) => total + (operations[index]?.kind === kind ? (result?.[name] ?? 0) : 0),
      0,
    )
  const describe = createErrorDescriber()
  const rows = outcomes.flatMap((one) => {
    const { index, error } = one
    if (error) return [{ ok: 0, idx: new Int32(index), ...describe(error), n: 0 }]
    return isTruthy(command.errorsOnly) ? [] : [rowOf(one, operations[index]?.kind)]
  })
  return {
    cursor: { id: Long.ZERO, firstBatch: rows, ns: 'admin.$cmd.bulkWrite' },
    nErrors: outcomes.filter(({ error }) => error).length,
    nInserted: sum('insert', 'matched'),
    nMatched: sum('update', 'matched'),
    nModified: sum('update', 'modified'),
    nUpserted: outcomes.filter(({ result }) => result?.upsertedId !== undefined).length,
    nDeleted: sum('delete', 'matched'),
    ok: 1,
  }
}

const rowOf = ({ index, result }: Outcome, kind: Kind | undefined): Document => {
  const { matched = 0, modified = 0, upsertedId } = result ?? {}
  const upserted = upsertedId === undefined ? undefined : { _id: upsertedId }
  return {
    ok: 1,
    idx: new Int32(index),
    n: upserted ? 1 : matched,
    ...(kind === 'update' && { nModified: modified }),
    ...(upserted && { upserted }),
  }
}
