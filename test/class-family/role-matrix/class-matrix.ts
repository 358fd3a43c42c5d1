import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import type { Access } from '../../../path-api/operation/access.ts'
import { type ClassName, classKindOf, classKinds } from '../../../records/kinds.ts'
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
import { createExampleChange, withOtherKey } from '../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { apiKeys, request } from '../../harness/service/service.ts'
import { isFullSize } from '../../harness/test-size.ts'

type Action = 'create' | 'read' | 'update' | 'delete'

/** The access rule of each action on a class: records in a plan follow the plan's rules. */
const inPlan = {
  create: 'plan:write',
  read: 'plan:read',
  update: 'plan:write',
  delete: 'plan:write',
} as const
const inEhr = { create: 'ehr:write', read: 'ehr:read', update: 'ehr:write', delete: 'ehr:write' } as const
const alone = { create: 'user', read: 'ehr:read', update: 'ehr:write', delete: 'ehr:remove' } as const

interface Row {
  className: ClassName
  access: Record<Action, Access>
  /** The ids that name the parents. */
  place: string[]
}

/** By parent. Who may create a care plan in an EHR may delete it; otherwise it follows its own rules. */
function rowsOf(className: ClassName): [string, Row][] {
  const { parentType, parentIds: place } = classKindOf(className)
  const row = (access: Row['access'], ids = Object.keys(place)) => ({ className, access, place: ids })
  if (className === 'CarePlan')
    return [[className, row({ ...inPlan, create: 'ehr:write', delete: 'plan:delete' })]]
  if (parentType === 'none') return [[className, row(alone)]]
  if (parentType === 'EHR') return [[className, row(inEhr)]]
  const ofEhr: [string, Row][] =
    parentType === 'either' ? [[`${className} of the EHR`, row(inEhr, ['ehrId'])]] : []
  return [[className, row(inPlan)], ...ofEhr]
}
const rows: Record<string, Row> = Object.fromEntries(SAMPLED_KINDS.flatMap(rowsOf))

/** Whether no earlier row has the same rules. */
const isFirstOfItsKind = (row: Row): boolean =>
  Object.values(rows).find(
    ({ access, place }) => access === row.access && place.length === row.place.length,
  ) === row

/** A class's example with its parents, without the status, since a change of status has further effects. */
function bodyOf({ className, place }: Row, of: 'create' | 'update', ids: Ids): Record<string, unknown> {
  const { status: _, ...example } = exampleOf(classKinds[className][of]) as Record<string, unknown>
  for (const name of ['ehrId', 'carePlanId', 'goalId']) delete example[name]
  return of === 'update'
    ? { ...without(example, classKindOf(className).naturalKey?.fields), ...newChange(className) }
    : { ...withOtherKey(className, example), ...Object.fromEntries(place.map((name) => [name, ids[name]])) }
}

/** Another text each time: a change to the same value makes no version. */
const newChange = (className: ClassName): object =>
  Object.fromEntries(Object.keys(createExampleChange(className) ?? {}).map((name) => [name, randomUUID()]))

const without = (values: Record<string, unknown>, names: readonly string[] = []) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))

interface SingleRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: object
}
/** `done`, or the code of the refusal. */
type Outcome = 'done' | number

/** The refusals of the class family by the status of the path family. */
const CODES: Record<Verdict, Outcome> = { done: 'done', 401: 209, 403: 119, 404: 101 }

/** An outcome, and the id of its request if it had one of its own. */
interface Answered {
  outcome: Outcome
  requestId?: string
}

type Way = (headers: Record<string, string>, parts: SingleRequest[]) => Promise<Answered[]>

/** Separate requests, or one batch. */
const ways: Record<string, Way> = {
  alone: (headers, parts) =>
    Promise.all(
      parts.map(async ({ method, path, body }) => {
        const verb = method.toLowerCase() as Lowercase<SingleRequest['method']>
        const requestId = randomUUID()
        const answer = await request()
          [verb](path)
          .set({ ...headers, 'x-request-id': requestId })
          .send(body)
        return { outcome: answer.status < 300 ? ('done' as const) : answer.body.code, requestId }
      }),
    ),
  'in a batch': async (headers, parts) => {
    const { body } = await request().post('/1/batch').set(headers).send({ requests: parts })
    return parts.map((_, i) => ({
      outcome: Array.isArray(body) ? (body[i].success ? 'done' : body[i].error.code) : body.code,
    }))
  },
}

/** A refused request leaves exactly one entry in the audit of the EHR, and that says that it was refused. */
const REFUSED_OUTCOMES: Readonly<Record<string, string>> = { 101: 'denied', 119: 'refused' }

/** Splits the classes into groups, so that each has a test file. */
function groupOf({ className }: Row) {
  if ('timestamp' in classKinds[className].fields) return 'measurements'
  return ['CarePlan', 'Goal', 'Task'].includes(className) ? 'care plans' : 'the rest'
}
type Group = ReturnType<typeof groupOf>

/** The callers, and the data that they try to access. */
interface Play<Name> {
  callers: readonly Name[]
  newCast(): Promise<AccessFixture<Name>>
  verdictOf(name: Name, access: Access): Verdict
  /** The caller with all rights. */
  owner: Name
}

const agreed: Play<CallerName> = {
  callers: CALLERS,
  newCast: createAccessFixture,
  verdictOf,
  owner: 'subject',
}
const pending: Play<PendingCallerName> = {
  callers: PENDING_CALLERS,
  newCast: createPendingAccessFixture,
  verdictOf: pendingVerdictOf,
  owner: 'creator',
}

/** Tries every action as every caller, for a group of classes. */
export function classRoleMatrix(group: Group): void {
  const selectedRows = Object.entries(rows).filter(([, row]) => groupOf(row) === group)
  matrix(selectedRows, `${group} of an EHR`, agreed)
}

/**
 * The same for an EHR to which its subject has not agreed: apart from their own list, only its creator has
 * access.
 */
export function pendingClassRoleMatrix(): void {
  const selectedRows = Object.entries(rows).filter(([, row]) => isFullSize || isFirstOfItsKind(row))
  matrix(selectedRows, 'an EHR that somebody else made about its subject', pending)
}

const matrix = <Name extends string>(
  selectedRows: readonly [string, Row][],
  what: string,
  play: Play<Name>,
) =>
  describe(`rights to ${what} in the class family`, function () {
    this.timeout(60_000)
    const { callers, owner } = play
    let cast: AccessFixture<Name>
    let shared: Ids
    before(async () => {
      cast = await play.newCast()
      shared = await cast.createRecords()
    })

    const headersOf = (name: Name): Record<string, string> => {
      const token = cast.getPerson(name)?.sessionToken
      return { ...apiKeys(), ...(token === undefined ? {} : { 'X-Parse-Session-Token': token }) }
    }

    /** The verdict of both families, as a code of Parse. */
    const expected = (name: Name, access: Access): Outcome => CODES[play.verdictOf(name, access)]

    /** The object that the caller tries. A caller who may delete an EHR gets one of their own. */
    async function objectFor(row: Row, ids: Ids, deletable: boolean): Promise<string> {
      if (row.className === 'CarePlan') return ids.carePlanId ?? ''
      if (row.className === 'Ehr') {
        return deletable ? cast.createSpareEhr() : cast.patient.ehrId
      }
      const post = request().post(`/1/classes/${row.className}`).set(headersOf(owner))
      const { body } = await post.send(bodyOf(row, 'create', ids)).expect(201)
      return body.objectId
    }

    /** A class may have a property of that name. */
    const refusalIn = async (path: string): Promise<number | undefined> => {
      const { objectId, code } = await seenByOwner(path)
      return objectId === undefined ? code : undefined
    }
    const seenByOwner = async (path: string) => (await request().get(path).set(headersOf(owner))).body

    for (const [title, row] of selectedRows) {
      const { className, access } = row
      const few = sampleByVerdict(callers, (name) =>
        Object.values(access).map((action) => expected(name, action)),
      )
      const asking = isFirstOfItsKind(row) ? callers : few
      const classPath = `/1/classes/${className}`
      const isRefused = (name: Name) =>
        Object.values(access).every((action) => expected(name, action) !== 'done')
      /** One EHR for all callers, until it has been deleted. */
      let deletable: Promise<Ids> | undefined
      const plan = () => {
        deletable ??= cast.replaceRecord(shared, 'carePlanId')
        return deletable
      }

      for (const [way, send] of Object.entries(ways)) {
        if (way !== 'alone' && !isFullSize && !isFirstOfItsKind(row)) continue
        it(`decide who can create, get, update and delete ${title} ${way}`, async () => {
          const askers = way === 'alone' ? asking : few
          const refusedNames = askers.filter(isRefused)
          const ids = className === 'CarePlan' ? await plan() : shared
          const objectPath = `${classPath}/${await objectFor(row, ids, false)}`
          const { version } = await seenByOwner(objectPath)
          await Promise.all(refusedNames.map((name) => attempt(name, send, objectPath, ids)))
          await Promise.all(refusedNames.map((name) => remove(name, send, objectPath)))
          assert.equal((await seenByOwner(objectPath)).version, version, 'what was refused changed nothing')
          for (const name of askers) if (!isRefused(name)) await attemptAlone(name, send)
        })
      }

      /** Creates another object, and reads and changes one. */
      async function attempt(name: Name, send: Way, path: string, ids: Ids): Promise<Outcome[]> {
        // An EHR has no property to change, so its subject is sent back, which makes no version.
        const { subjectId } = await seenByOwner(path)
        const answers = await send(headersOf(name), [
          { method: 'POST', path: classPath, body: bodyOf(row, 'create', ids) },
          { method: 'GET', path },
          {
            method: 'PUT',
            path,
            body: { ...bodyOf(row, 'update', ids), ...(className === 'Ehr' && { subjectId }) },
          },
        ])
        const expectedOutcomes = (['create', 'read', 'update'] as const).map((action) =>
          expected(name, access[action]),
        )
        assert.deepEqual(
          answers.map(({ outcome }) => outcome),
          expectedOutcomes,
          name,
        )
        for (const answer of answers) await requireEntry(answer, cast.patient.ehrId, name)
        return expectedOutcomes
      }

      async function requireEntry(
        { outcome, requestId }: Answered,
        ehrId: string,
        name: Name,
      ): Promise<void> {
        const entry = REFUSED_OUTCOMES[outcome]
        if (!entry || requestId === undefined) return
        assert.deepEqual(await outcomesOf(requestId), [`${entry} ${ehrId}`], `${name}: ${outcome}`)
      }

      async function remove(name: Name, send: Way, path: string): Promise<void> {
        const [answer] = await send(headersOf(name), [{ method: 'DELETE', path }])
        assert.equal(answer?.outcome, expected(name, access.delete), `${name}: delete`)
        await requireEntry(answer as Answered, cast.patient.ehrId, name)
      }

      async function attemptAlone(name: Name, send: Way): Promise<void> {
        const ids = className === 'CarePlan' ? await plan() : shared
        const path = `${classPath}/${await objectFor(row, ids, false)}`
        const { version } = await seenByOwner(path)
        const [, , update] = await attempt(name, send, path, ids)
        const next = update === 'done' && className !== 'Ehr' ? version + 1 : version
        assert.equal((await seenByOwner(path)).version, next, `${name}: what was refused changed nothing`)
        const isDeletable = expected(name, access.delete) === 'done'
        const last = className === 'Ehr' ? `${classPath}/${await objectFor(row, ids, isDeletable)}` : path
        await remove(name, send, last)
        assert.equal(await refusalIn(last), isDeletable ? 101 : undefined, name)
        if (className === 'CarePlan' && isDeletable) deletable = undefined
      }

      it(`decide who can find and count ${title}, and list its distinct values`, async () => {
        const objectId = await objectFor(row, shared, false)
        const where = JSON.stringify({ objectId })
        const look = async (name: Name): Promise<void> => {
          const outcome = expected(name, access.read)
          const list = async (query: object) => {
            const requestId = randomUUID()
            const { body } = await request()
              .get(classPath)
              .set({ ...headersOf(name), 'x-request-id': requestId })
              .query({ where, ...query })
            // The list is empty, so only the audit tells that something was withheld.
            await requireEntry({ outcome, requestId }, cast.patient.ehrId, name)
            return body
          }
          const answers = [
            (await list({})).results?.map((one: { objectId: string }) => one.objectId),
            (await list({ count: 1, limit: 0 })).count,
            (await list({ distinct: 'version' })).results,
          ]
          const expectedAnswers = [[objectId], 1, answers[2]?.slice(0, 1)]
          if (outcome === 209) assert.deepEqual(answers, [undefined, undefined, undefined], name)
          else assert.deepEqual(answers, outcome === 'done' ? expectedAnswers : [[], 0, []], name)
          if (outcome === 'done') assert.equal(answers[2]?.length, 1)
        }
        await Promise.all(asking.map(look))
      })
    }
  })
