/**
 * Runs a statement of a write command: at once if it is short, otherwise in slices between which other work
 * runs.
 */
import type { Collection } from '../../storage/collections/catalog.ts'
import { type MatchedRecord, readRecord } from '../../storage/collections/records.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import type { StatementResult } from '../../storage/last-writes.ts'
import { findRecords, prepareQuery, type Query } from '../../storage/queries/query.ts'
import { BlockedByTransaction } from '../../storage/transactions.ts'
import { decode } from '../../values/bson-values.ts'
import { type CommandError, fail, MissingCollection, toCommandError } from '../../values/errors.ts'
import { collectInOneSlice, forEachItem } from '../../values/steps.ts'
import type { CommandContext } from '../context.ts'

/** The effect of a statement on the documents that it finds. */
interface StatementEffect {
  apply(view: WritableView, match: MatchedRecord, result: StatementResult): void
  /** Called if it finds no document. */
  onNoMatch?(view: WritableView, result: StatementResult): void
}

export interface Statement {
  /** The name of its collection. */
  name: string
  query: Query
  /** It changes only the first document that it finds. */
  single: boolean
  /** It inserts a document if it finds none. */
  isUpsert?: boolean
  /** Its position in the command. */
  position?: number
  /** Which version of the document the answer shows. */
  shows?: 'before' | 'after' | undefined
  change(collection: Collection): StatementEffect
}

/** A statement that changes more documents runs in slices, even if it found them quickly. */
const MAX_DOCUMENTS_AT_ONCE = 500
const MAX_ATTEMPTS = 100

const emptyResult = (): StatementResult => ({ matched: 0, modified: 0 })

/** @throws MissingCollection for an upsert, if another client has dropped the collection meanwhile */
const findCollection = (
  { db, find }: CommandContext,
  { name, isUpsert }: Statement,
): Collection | undefined => {
  const collection = find(name)
  if (!collection && isUpsert) throw new MissingCollection(db, name)
  return collection
}

/** Runs a whole statement. Returns undefined, with nothing changed, if it takes longer than a time slice. */
export const runInOneSlice = (
  context: CommandContext,
  view: WritableView,
  statement: Statement,
): StatementResult | undefined => {
  const collection = findCollection(context, statement)
  if (!collection) return emptyResult()
  const change = statement.change(collection)
  const result = emptyResult()
  const matches = collectInOneSlice(findRecords(view, collection, statement.query))
  if (!matches || matches.length > MAX_DOCUMENTS_AT_ONCE) return undefined
  for (const match of matches) change.apply(view, match, result)
  if (matches.length === 0) change.onNoMatch?.(view, result)
  return result
}

/** First finds all ids. Then it changes the documents that still match, one slice at a time. */
export const runInSlices = async (
  context: CommandContext,
  statement: Statement,
): Promise<StatementResult> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const ids = await findIds(context, statement)
    const result = await changeInSlices(context, statement, ids)
    if (result.matched > 0 || ids.length === 0 || !statement.single) return result
  }
  return fail(112, 'WriteConflict: other operations kept changing the matching documents')
}

const findIds = async (
  { view, find: collectionOf, timer }: CommandContext,
  statement: Statement,
): Promise<Buffer[]> => {
  const collection = collectionOf(statement.name)
  const ids: Buffer[] = []
  await forEachItem(findRecords(view, collection, statement.query), timer, ({ id }) => {
    // A copy, because the id would keep the whole record in memory.
    ids.push(Buffer.from(id))
  })
  return ids
}

interface Slice {
  /** The position of the next id. */
  at: number
  result: StatementResult
  error?: unknown
}

const changeInSlices = async (
  context: CommandContext,
  statement: Statement,
  ids: Buffer[],
): Promise<StatementResult> => {
  let result = emptyResult()
  let at = 0
  do {
    const slice = await context.write((view) => changeOneSlice(context, view, statement, ids, at))
    // Changes before the error stay, as in MongoDB.
    if (slice.error) throw slice.error
    at = slice.at
    const { matched, modified, ...rest } = slice.result
    result = {
      ...result,
      ...rest,
      matched: result.matched + matched,
      modified: result.modified + modified,
    }
    await context.timer.pause()
  } while (at < ids.length)
  return result
}

const changeOneSlice = (
  context: CommandContext,
  view: WritableView,
  statement: Statement,
  ids: Buffer[],
  from: number,
): Slice => {
  const collection = findCollection(context, statement)
  const slice: Slice = { at: ids.length, result: emptyResult() }
  if (!collection) return slice
  const { test } = prepareQuery(collection, statement.query)
  const change = statement.change(collection)
  try {
    if (ids.length === 0) change.onNoMatch?.(view, slice.result)
    for (let at = from; at < ids.length; at++) {
      if (at > from && context.timer.isSliceOver()) return { ...slice, at }
      const id = ids[at] as Buffer
      const bytes = readRecord(view, collection, id)
      const document = bytes && decode(bytes)
      if (document && test(document)) change.apply(view, { id, bytes, document }, slice.result)
    }
  } catch (error) {
    if (error instanceof BlockedByTransaction) throw error
    slice.error = error
  }
  if (statement.single) recordResults(context, view, statement, [slice.result])
  return slice
}

/** The result of a statement that an earlier attempt of the same command has carried out. */
export const findEarlierResult = (
  { engine, retryable }: CommandContext,
  view: WritableView,
  position: number,
): StatementResult | undefined =>
  retryable?.isRetry ? engine.lastWrites.find(view, retryable.write, position) : undefined

/** Stores the results of statements for retries. Call it last in the job that carried them out. */
export const recordResults = (
  { engine, retryable }: CommandContext,
  view: WritableView,
  { position = 0, shows }: Pick<Statement, 'position' | 'shows'>,
  statementResults: readonly (StatementResult | undefined)[],
): void => {
  if (!retryable) return
  const results = statementResults.map((result = emptyResult()): StatementResult => {
    const { matched, modified, upsertedId } = result
    return {
      matched,
      modified,
      ...(upsertedId !== undefined && { upsertedId }),
      ...(shows && { [shows]: result[shows] }),
    }
  })
  engine.lastWrites.record(view, retryable.write, position, results)
}

export interface Outcome {
  index: number
  result?: StatementResult
  /** An earlier attempt has carried it out. */
  isRepeat?: true
  error?: CommandError
}

/** Runs one statement in a job; returns undefined if it needs slices. */
type RunStatement = (view: WritableView, index: number) => StatementResult | undefined

/**
 * Runs the statements of a batch, as many in one job as fit into a time slice. The first error ends an
 * ordered batch, and any batch of a transaction, with the transaction.
 */
export const runBatch = async (
  context: CommandContext,
  count: number,
  runOne: RunStatement,
  runSlowly: (index: number) => Promise<StatementResult>,
): Promise<Outcome[]> => {
  const endsAtError = context.inTransaction || context.command.ordered !== false
  const outcomes: Outcome[] = []
  const hasFailed = () => endsAtError && outcomes.some(({ error }) => error)
  while (outcomes.length < count && !hasFailed()) {
    const from = outcomes.length
    const newOutcomes = await context.write((view) =>
      runInOneJob(context, view, from, count, runOne, endsAtError),
    )
    if (newOutcomes.length === 0) newOutcomes.push(await toOutcome(from, () => runSlowly(from)))
    outcomes.push(...newOutcomes)
    if (outcomes.length < count) await context.timer.pause()
  }
  if (hasFailed()) context.abortTransaction?.()
  return outcomes
}

const runInOneJob = (
  context: CommandContext,
  view: WritableView,
  from: number,
  count: number,
  runOne: RunStatement,
  endsAtError: boolean,
): Outcome[] => {
  const outcomes: Outcome[] = []
  for (let index = from; index < count; index++) {
    if (index > from && context.timer.isSliceOver()) break
    try {
      const before = findEarlierResult(context, view, index)
      const result = before ?? runOne(view, index)
      if (!result) break
      outcomes.push({ index, result, ...(before && { isRepeat: true }) })
    } catch (error) {
      outcomes.push({ index, error: statementFault(error) })
      if (endsAtError) break
    }
  }
  const newResults = outcomes.map(({ result, isRepeat }) => (isRepeat ? undefined : result))
  recordResults(context, view, { position: from }, newResults)
  return outcomes
}

const toOutcome = async (index: number, run: () => Promise<StatementResult>): Promise<Outcome> => {
  try {
    return { index, result: await run() }
  } catch (error) {
    return { index, error: statementFault(error) }
  }
}

/**
 * Throws an error that ends the whole command or begins the job again: a block by a claim, a missing collection, an
 * expired time limit, or an error after which the transaction can run again. Returns any other error, which concerns
 * only the statement.
 */
const statementFault = (error: unknown): CommandError => {
  if (error instanceof BlockedByTransaction || error instanceof MissingCollection) throw error
  const fault = toCommandError(error)
  if (fault.code === 50 || fault.extra.errorLabels) throw fault
  return fault
}
