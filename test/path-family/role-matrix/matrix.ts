import assert from 'node:assert/strict'
import type { TObject } from '@sinclair/typebox'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import { namesIn, type Operation } from '../../../path-api/operation/operation.ts'
import { table } from '../../../path-api/table.ts'
import { type ClassName, classKind, isClassName } from '../../../records/kinds.ts'
import {
  type CallerName,
  type Cast,
  callers,
  type Ids,
  newCast,
  newPendingCast,
  oneOfEach,
  type PendingCallerName,
  pendingCallers,
  pendingVerdictOf,
  type Verdict,
  verdictOf,
} from '../../harness/care/cast.ts'
import {
  addition,
  exampleBody,
  exampleChange,
  pathIn,
  pathOfOne,
  unlike,
} from '../../harness/care/samples/examples.ts'
import { isSampled } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { call, ok } from '../../harness/clients/path-client.ts'
import { pressureOf, pressureXmlOf } from '../../harness/openehr.ts'
import type { Person } from '../../harness/people/people.ts'

/** Templates, archetypes and stored queries are no EHR's. */
const ofEhrs = table.filter(({ path }) => /^\/(ehr|med)\b(?!\/knowledge|\/query)/.test(path))
const isOpen = ({ access }: Operation): boolean => access === 'public' || access === 'optional'
const operations = ofEhrs.filter((operation) => !isOpen(operation) && isSampled(operation))

/** What is closed or gone cannot be closed or deleted again, and who takes part is what this is about. */
const happensOnce = ({ method, path }: Operation): boolean =>
  method === 'delete' || path.endsWith('/close') || (method !== 'get' && path.includes('/participant'))

/** Below /med there is what there is below /ehr. */
const isTwin = ({ id }: Operation): boolean => id.includes('Medical')

/** What is ruled, and done, like one before it, which everybody has been asked for. */
const isRuledLikeAnother = ({ method, access }: Operation, before: readonly Operation[]): boolean =>
  before.some((other) => other.access === access && (other.method === 'get') === (method === 'get'))

/** Nothing has been removed that could be restored. */
const restoring = ({ id }: Operation, verdict: Verdict): Verdict =>
  id === 'restoreEhr' && verdict === 'done' ? 404 : verdict

const expected = (caller: CallerName, operation: Operation) =>
  restoring(operation, verdictOf(caller, operation.access))

/** As nobody takes part in an EHR to which its subject has not agreed, there is nobody to be added, shown or changed. */
function expectedPending(caller: PendingCallerName, operation: Operation) {
  const { method, path, access } = operation
  const verdict = restoring(operation, pendingVerdictOf(caller, access))
  if (verdict !== 'done' || !path.includes('/participant')) return verdict
  if (path.endsWith('{participationId}')) return 404
  return method === 'post' ? 422 : verdict
}

/** The care plan that examples name, at any depth. */
const EXAMPLE_PLAN = 'p0LmNb72Qw'

function bodyOf({ method, path, body, kind }: Operation, ids: Ids, { mvUid }: Person): unknown {
  if (!body) return undefined
  if (path.endsWith('/json')) return pressureOf(ids.template ?? '', 150)
  if (path.endsWith('/xml')) return pressureXmlOf(ids.template ?? '', 150)
  const text = JSON.stringify(exampleOf(body as TObject)).replaceAll(EXAMPLE_PLAN, ids.careplanId ?? '')
  const plain = JSON.parse(text) as Record<string, unknown>
  const example = isClassName(kind) ? unlike(kind, plain) : plain
  for (const name of ['id', 'status', 'participationId', 'mvUid', 'participants', 'substance'])
    delete example[name]
  return method === 'post' && path.endsWith('/participant') ? { ...example, mvUid } : example
}

/** What is put into a care plan by the query. */
const isPlaced = ({ method, query }: Operation): boolean =>
  method === 'post' && 'carePlanId' in query.properties

const headersOf = ({ ifMatch, path }: Operation): Record<string, string> => ({
  ...(ifMatch && { 'if-match': '*' }),
  ...(path.endsWith('/xml') && { 'content-type': 'application/xml' }),
})

/** Asks operations as everybody of a cast. */
function matrix<Name>(
  chosen: readonly Operation[],
  newCast: () => Promise<Cast<Name>>,
  callers: readonly Name[],
  expected: (caller: Name, operation: Operation) => Verdict | 422,
): void {
  let cast: Cast<Name>
  /** For all calls that can be repeated, be it that they are refused. */
  let shared: Ids
  const records = new Map<ClassName, Promise<string>>()
  before(async () => {
    cast = await newCast()
    shared = await cast.furnished()
  })

  /** Those of a plan with all that is in it; of a kind that is like any other a record is all that it takes. */
  async function idsFor({ kind, path }: Operation, once: boolean): Promise<Ids> {
    // A measurement's id has the name of a composition's.
    const isOwn = (name: string) => !(name in shared) || (name === 'compositionId' && isClassName(kind))
    const own = namesIn(path).find(isOwn)
    if (own === undefined || !isClassName(kind))
      return once ? cast.renewed(shared, namesIn(path).at(-1) ?? '') : shared
    const record = (!once && records.get(kind)) || newRecord(kind)
    if (!once) records.set(kind, record)
    return { ...shared, [own]: await record }
  }

  /** With a former version. */
  async function newRecord(kind: ClassName): Promise<string> {
    const { ehrId } = cast.patient
    const { path, method } = addition(kind) as Operation
    const named = 'carePlanId' in classKind(kind).body.properties && { carePlanId: shared.careplanId }
    const body: Record<string, unknown> = unlike(kind, { ...exampleBody(kind), ...named })
    const at = pathIn(path, { ...body, ehrId })
    const { id } = ok(await cast.patient.call(method.toUpperCase(), at, body), 201)
    ok(await cast.patient.call('PUT', pathOfOne(kind, at, id), { ...body, ...exampleChange(kind) }))
    const [own] = namesIn(path).filter((name) => name !== 'ehrId')
    return own === undefined ? id : encodeURIComponent(String(body[own]))
  }

  for (const [i, operation] of chosen.entries()) {
    const asking =
      isTwin(operation) || isRuledLikeAnother(operation, chosen.slice(0, i))
        ? oneOfEach(callers, (name) => expected(name, operation))
        : callers
    const isRefused = (name: Name) => expected(name, operation) !== 'done'
    it(`${operation.method.toUpperCase()} ${operation.path}`, async () => {
      // They change nothing.
      await Promise.all(asking.filter(isRefused).map((name) => ask(operation, name)))
      for (const name of asking) if (!isRefused(name)) await ask(operation, name)
    })
  }

  async function ask(operation: Operation, name: Name): Promise<void> {
    const wanted = expected(name, operation)
    const ids = await idsFor(operation, wanted === 'done' && happensOnce(operation))
    const spends = wanted === 'done' && ['deleteEhr', 'acceptEhr'].includes(operation.id)
    const all: Ids = { ...ids, ehrId: spends ? await cast.spare() : cast.patient.ehrId }
    const named = operation.path.replace(/\{(\w+)\}/g, (_, of: string) => all[of] ?? of)
    const path = isPlaced(operation) ? `${named}?carePlanId=${all.careplanId}` : named + queryOf(operation)
    const as = cast.personOf(name)?.call ?? call
    const { status, body } = await as(
      operation.method.toUpperCase(),
      path,
      bodyOf(operation, all, cast.guest),
      headersOf(operation),
    )
    const told = `${name}: ${status} ${JSON.stringify(body)}`
    if (wanted === 'done') assert.ok([200, 201, 204].includes(status), told)
    else assert.equal(status, wanted, told)
  }
}

/** What operations are about, so that each group has a file of its own. */
const groupOf = ({ path }: Operation) =>
  path.includes('/careplan') ? 'care plans' : path.includes('/procedure') ? 'measurements' : 'the rest'

type Group = ReturnType<typeof groupOf>

/** What a query cannot do without. */
function queryOf({ query: { properties, required = [] } }: Operation): string {
  const examples = required.map((name): [string, string] => [name, String(properties[name]?.examples[0])])
  return examples.length === 0 ? '' : `?${new URLSearchParams(examples)}`
}

/** Asks the operations of a group as everybody. */
export const roleMatrix = (group: Group): void => {
  const chosen = operations.filter((operation) => groupOf(operation) === group)
  describe(`who may do what with ${group} of an EHR in the path family`, function () {
    this.timeout(60_000)
    describe('that its subject has, or agreed to', () => matrix(chosen, newCast, callers, expected))
  })
}

/** The same for an EHR that waits for its subject. */
export const pendingRoleMatrix = (group: Group): void => {
  const chosen = operations.filter((operation) => groupOf(operation) === group)
  describe(`who may do what with ${group} of an EHR that somebody else made about its subject`, function () {
    this.timeout(60_000)
    matrix(chosen, newPendingCast, pendingCallers, expectedPending)
  })
}

/** The paths on EHRs that ask for no token. */
export const openPaths = (): string[] => [...new Set(ofEhrs.filter(isOpen).map(({ path }) => path))]
