import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TObject } from '@sinclair/typebox'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import { type Operation, pathParameterNames } from '../../../path-api/operation/operation.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { agreementIdOf, helperAgreementsOf } from '../../../records/accounts/helpers/helper-agreement.ts'
import { type ClassName, classKindOf, isClassName } from '../../../records/kinds.ts'
import type { HelperAct } from '../../../schemas/enums.ts'
import { restBodyOf, restIdsOf } from '../../conformance/openehr-rest/rest-requests.ts'
import { byClass } from '../../family-kinds.ts'
import {
  type AccessFixture,
  CALLERS,
  type CallerName,
  createAccessFixture,
  createPendingAccessFixture,
  type Ids,
  PENDING_CALLERS,
  type PendingCallerName,
  pendingVerdictOf,
  sampleByVerdict,
  type Verdict,
  verdictOf,
} from '../../harness/care/access-fixture.ts'
import { outcomesOf } from '../../harness/care/audit-traces.ts'
import {
  createExampleChange,
  exampleObject,
  parentIdsOf,
  withOtherKey,
} from '../../harness/care/samples/examples.ts'
import { isSampled } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { assertStatus, call } from '../../harness/clients/path-client.ts'
import { createPressureComposition, createPressureXml } from '../../harness/openehr-samples.ts'
import { actFor, createHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

/** Templates, archetypes and stored queries belong to no EHR. */
const ofEhrs = operationTable.filter(({ path }) =>
  /^\/(ehr|med)\b(?!\/knowledge|\/query)|^\/openehr\/v1\/ehr\//.test(path),
)
const isOpen = ({ access }: Operation): boolean => access === 'public' || access === 'optional'
const operations = ofEhrs.filter(
  (operation) => !isOpen(operation) && isSampled(operation) && operation.access !== 'ehr:create',
)

/** Closing and deleting cannot be repeated, and changes of participants would change the callers' rights. */
const happensOnce = ({ method, path }: Operation): boolean =>
  method === 'delete' || path.endsWith('/close') || (method !== 'get' && path.includes('/participant'))

/** Operations below /med are the same as below /ehr. */
const isTwin = ({ id }: Operation): boolean => id.includes('Medical')

/** Has the same rule and effect as an earlier operation that all callers have tried. */
const isRuledLikeAnother = ({ method, access }: Operation, before: readonly Operation[]): boolean =>
  before.some((other) => other.access === access && (other.method === 'get') === (method === 'get'))

/** No EHR has been deleted, so a permitted restore gets a 404. */
const restoring = ({ id }: Operation, verdict: Verdict): Verdict =>
  id === 'restoreEhr' && verdict === 'done' ? 404 : verdict

const expected = (caller: CallerName, operation: Operation) =>
  restoring(operation, verdictOf(caller, operation.access))

/** An EHR to which its subject has not agreed has no participants to add, show or change. */
function expectedPending(caller: PendingCallerName, operation: Operation) {
  const { method, path, access } = operation
  const verdict = restoring(operation, pendingVerdictOf(caller, access))
  if (verdict !== 'done' || !path.includes('/participant')) return verdict
  if (path.endsWith('{participationId}')) return 404
  return method === 'post' ? 422 : verdict
}

/** The care plan in the examples, at any depth. */
const EXAMPLE_PLAN = 'p0LmNb72Qw'

function bodyOf(operation: Operation, ids: Ids, { mvUid }: Person): unknown {
  const { method, path, body, kind } = operation
  if (!body) return undefined
  if (operation.api === 'openehr') return restBodyOf(operation, ids)
  if (path.endsWith('/json')) return createPressureComposition(ids.template ?? '', 150)
  if (path.endsWith('/xml')) return createPressureXml(ids.template ?? '', 150)
  const text = JSON.stringify(exampleOf(body as TObject)).replaceAll(EXAMPLE_PLAN, ids.careplanId ?? '')
  const plain = JSON.parse(text) as Record<string, unknown>
  const example = isClassName(kind) ? withOtherKey(kind, plain) : plain
  for (const name of ['id', 'status', 'participationId', 'mvUid', 'participants', 'substance'])
    delete example[name]
  return method === 'post' && path.endsWith('/participant') ? { ...example, mvUid } : example
}

/** Operations whose query parameter names the care plan. */
const isPlaced = ({ method, query }: Operation): boolean =>
  method === 'post' && 'carePlanId' in query.properties

const headersOf = async (
  { ifMatch, path }: Operation,
  findEtag: () => Promise<{ etag: string }>,
): Promise<Record<string, string>> => ({
  ...(ifMatch && { 'if-match': (await findEtag()).etag }),
  ...(path.endsWith('/xml') && { 'content-type': 'application/xml' }),
})

/** A refused request leaves exactly one entry in the audit of the EHR, and that says that it was refused. */
const REFUSED_OUTCOMES: Readonly<Record<string | number, string>> = { 404: 'denied', 403: 'refused' }

/** The role decides, whatever the EHR: nothing of the EHR is told, and its audit has no entry. */
const isDecidedByRole = ({ access }: Operation): boolean => access === 'admin' || access === 'account'

/** Calls operations as every caller of a fixture. */
function matrix<Name>(
  groupOperations: readonly Operation[],
  newCast: () => Promise<AccessFixture<Name>>,
  callers: readonly Name[],
  expected: (caller: Name, operation: Operation) => Verdict | 422,
): void {
  let cast: AccessFixture<Name>
  /** Shared by all repeatable calls, including refused ones. */
  let shared: Ids
  const records = new Map<ClassName, Promise<string>>()
  before(async () => {
    cast = await newCast()
    shared = await cast.createRecords()
  })

  /** The ids for an operation: those of a complete plan; for an ordinary kind only a new record. */
  async function idsFor({ kind, path }: Operation, once: boolean): Promise<Ids> {
    // A measurement's id parameter is also called compositionId.
    const isOwn = (name: string) => !(name in shared) || (name === 'compositionId' && isClassName(kind))
    const ownId = pathParameterNames(path).find(isOwn)
    if (ownId === undefined || !isClassName(kind))
      return once ? cast.replaceRecord(shared, pathParameterNames(path).at(-1) ?? '') : shared
    const record = (!once && records.get(kind)) || newRecord(kind, ownId)
    if (!once) records.set(kind, record)
    return { ...shared, [ownId]: await record }
  }

  /** A record with a former version. @returns the parameter of its path: its id, or a natural key */
  async function newRecord(kind: ClassName, parameter: string): Promise<string> {
    const { post, put } = byClass(cast.patient)
    const place = parentIdsOf(kind, { ...shared, ehrId: cast.patient.ehrId })
    const object: Record<string, unknown> = withOtherKey(kind, { ...place, ...exampleObject(kind) })
    const { objectId } = (await post(kind, object).expect(201)).body
    await put(kind, objectId, createExampleChange(kind) ?? {}).expect(200)
    return parameter in object ? encodeURIComponent(String(object[parameter])) : objectId
  }

  for (const [i, operation] of groupOperations.entries()) {
    const asking =
      isTwin(operation) || isRuledLikeAnother(operation, groupOperations.slice(0, i))
        ? sampleByVerdict(callers, (name) => expected(name, operation))
        : callers
    const isRefused = (name: Name) => expected(name, operation) !== 'done'
    it(`follows the roles at ${operation.method.toUpperCase()} ${operation.path}`, async () => {
      // Refused calls change nothing, so they can run concurrently.
      await Promise.all(asking.filter(isRefused).map((name) => ask(operation, name)))
      for (const name of asking) if (!isRefused(name)) await ask(operation, name)
    })
  }

  async function ask(operation: Operation, name: Name): Promise<void> {
    const verdict = expected(name, operation)
    const ids = await idsFor(operation, verdict === 'done' && happensOnce(operation))
    const spends = verdict === 'done' && ['deleteEhr', 'acceptEhr'].includes(operation.id)
    const allIds: Ids = { ...ids, ehrId: spends ? await cast.createSpareEhr() : cast.patient.ehrId }
    const pathIds = operation.api === 'openehr' ? await restIdsOf(operation, cast.patient, allIds) : allIds
    const basePath = operation.path.replace(/\{(\w+)\}/g, (_, of: string) => pathIds[of] ?? of)
    const path = isPlaced(operation)
      ? `${basePath}?carePlanId=${allIds.careplanId}`
      : basePath + queryOf(operation)
    const as = cast.getPerson(name)?.call ?? call
    const requestId = randomUUID()
    const conditions = await headersOf(operation, () => cast.patient.call('GET', basePath))
    const headers = { ...conditions, 'x-request-id': requestId }
    const { status, body } = await as(
      operation.method.toUpperCase(),
      path,
      bodyOf(operation, allIds, cast.guest),
      headers,
    )
    const message = `${name}: ${status} ${JSON.stringify(body)}`
    if (verdict === 'done') assert.ok([200, 201, 204].includes(status), message)
    else assert.equal(status, verdict, message)
    const entry = REFUSED_OUTCOMES[verdict]
    if (entry && !isDecidedByRole(operation))
      assert.deepEqual(await outcomesOf(requestId), [`${entry} ${allIds.ehrId}`], message)
  }
}

/** Splits the operations into groups, so that each has a test file. */
const groupOf = ({ path, api }: Operation) =>
  api === 'openehr'
    ? 'openEHR'
    : path.includes('/careplan')
      ? 'care plans'
      : path.includes('/procedure')
        ? 'measurements'
        : 'the rest'

type Group = ReturnType<typeof groupOf>

/** The required query parameters. */
function queryOf({ query: { properties, required = [] } }: Operation): string {
  const examples = required.map((name): [string, string] => [name, String(properties[name]?.examples[0])])
  return examples.length === 0 ? '' : `?${new URLSearchParams(examples)}`
}

/** Calls the operations of a group as every caller. */
export const roleMatrix = (group: Group): void => {
  const groupOperations = operations.filter((operation) => groupOf(operation) === group)
  describe(`access to ${group} of an EHR in the path family`, function () {
    this.timeout(60_000)
    describe('that belongs to its subject, or that they agreed to', () =>
      matrix(groupOperations, createAccessFixture, CALLERS, expected))
  })
}

/** The same for a pending EHR. */
export const pendingRoleMatrix = (group: Group): void => {
  const groupOperations = operations.filter((operation) => groupOf(operation) === group)
  describe(`access to ${group} of an EHR that somebody else created about its subject`, function () {
    this.timeout(60_000)
    matrix(groupOperations, createPendingAccessFixture, PENDING_CALLERS, expectedPending)
  })
}

/** Helpers of the subject: of each act, and some whose help has ended. */
const HELPERS = {
  reads: ['READ'],
  records: ['READ', 'RECORD'],
  writes: ['READ', 'MESSAGES'],
  plans: ['READ', 'PLAN'],
  ended: ['READ', 'RECORD', 'MESSAGES', 'PLAN'],
  expired: ['READ', 'RECORD', 'MESSAGES', 'PLAN'],
} as const satisfies Record<string, HelperAct[]>
type HelperName = keyof typeof HELPERS
const HELPER_NAMES = Object.keys(HELPERS) as HelperName[]

async function createHelperFixture(): Promise<AccessFixture<HelperName>> {
  const fixture = await createAccessFixture()
  const { patient } = fixture
  const people: Partial<Record<HelperName, Person>> = {}
  for (const name of HELPER_NAMES) {
    const helper = await createPerson()
    await createHelper(patient, helper, HELPERS[name])
    people[name] = await actFor(patient, helper)
    if (name === 'ended')
      assertStatus(await patient.call('DELETE', `/profile/${patient.mvUid}/helper/${helper.mvUid}`), 204)
  }
  const { mvUid = '' } = people.expired ?? {}
  await helperAgreementsOf(service.db).updateOne(
    { _id: agreementIdOf({ mvUid: patient.mvUid, helperId: mvUid }) },
    { $set: { until: new Date(0) } },
  )
  await waitUntil(async () => (await people.expired?.call('GET', '/ehr'))?.status === 401)
  return { ...fixture, getPerson: (name) => people[name] }
}

/** The permission that a helper needs for an operation; undefined: no helper may carry it out. */
function actOf({ method, access, kind, id, path }: Operation): HelperAct | undefined {
  if (access === 'user') return 'READ'
  if (!['ehr:read', 'ehr:write', 'plan:read', 'plan:write'].includes(access)) return undefined
  if (method === 'get') return 'READ'
  if (isClassName(kind)) return classKindOf(kind).helperAct
  if (path.includes('/procedure')) return 'RECORD'
  return /Goal|Task|Alert$|Event/.test(id) ? 'PLAN' : undefined
}

function expectedOfHelper(name: HelperName, operation: Operation): Verdict {
  if (name === 'ended' || name === 'expired') return 401
  const act = actOf(operation)
  return act !== undefined && (HELPERS[name] as readonly HelperAct[]).includes(act) ? 'done' : 403
}

/** Calls the operations of a group as helpers who act for the subject. */
export const helperRoleMatrix = (group: Group): void => {
  const groupOperations = operations.filter((operation) => groupOf(operation) === group)
  describe(`access of helpers to ${group} of an EHR`, function () {
    this.timeout(60_000)
    matrix(groupOperations, createHelperFixture, HELPER_NAMES, expectedOfHelper)
  })
}

/** The paths on EHRs that require no token. */
export const openPaths = (): string[] => [...new Set(ofEhrs.filter(isOpen).map(({ path }) => path))]
