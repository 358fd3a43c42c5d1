import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { HOUR_MS, MINUTE_MS } from '../../schemas/time/durations.ts'
import {
  addParticipant,
  createAlert,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../harness/care/patients.ts'
import { callFunction } from '../harness/clients/class-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { mailsTo } from '../harness/mail/mail.ts'
import { createPerson, nameProfile, type Person } from '../harness/people/people.ts'
import { beforeFirstCommand } from '../harness/service/database-commands.ts'
import { request, service } from '../harness/service/service.ts'
import { waitFor } from '../harness/wait.ts'

type Values = Record<string, unknown>

/** A result, or the status of a refusal with the fields that it names. */
interface Outcome {
  result?: Values
  status?: number
  paths?: string
}

interface Family {
  handOver(who: Person, body: Values): Promise<Outcome>
  end(who: Person, id: string, version?: number): Promise<Outcome>
  list(who: Person): Promise<Values[]>
  colleagues(who: Person): Promise<Values[]>
}

const STATUSES: Readonly<Record<number, number>> = { 101: 404, 142: 422, 412: 412 }

async function callClass(who: Person, name: string, params: Values): Promise<Outcome> {
  const { body } = await callFunction(who, name, params)
  if (body.result) return { result: body.result }
  const paths = [...String(body.error).matchAll(/(?:^|; )(to|from|until)\b/g)].map(([, path]) => path)
  return { status: STATUSES[body.code] ?? body.code, paths: paths.join() }
}

async function callPath(who: Person, path: string, body: Values, version?: number): Promise<Outcome> {
  const headers: Record<string, string> = version === undefined ? {} : { 'if-match': `"${version}"` }
  const answer = await who.call('POST', path, body, headers)
  if (answer.status < 300) return { result: answer.body }
  const errors = (answer.body.errors ?? []) as { path: string }[]
  return { status: answer.status, paths: errors.map(({ path }) => path.replace('body.', '')).join() }
}

const itemsOf = async (who: Person, path: string): Promise<Values[]> =>
  assertStatus(await who.call('GET', path)).items

const FAMILIES: Record<'path' | 'class', Family> = {
  path: {
    handOver: (who, body) => callPath(who, '/worklist/handover', body),
    end: (who, id, version) => callPath(who, `/worklist/handover/${id}/end`, {}, version),
    list: (who) => itemsOf(who, '/worklist/handover'),
    colleagues: (who) => itemsOf(who, '/worklist/colleague'),
  },
  class: {
    handOver: (who, body) => callClass(who, 'handOverWorklist', body),
    end: (who, handoverId, version) =>
      callClass(who, 'endHandover', { handoverId, ...(version && { version }) }),
    list: async (who) => (await callClass(who, 'handovers', {})).result?.items as Values[],
    colleagues: async (who) => (await callClass(who, 'colleagues', {})).result?.items as Values[],
  },
}

const hoursFromNow = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()

for (const family of ['path', 'class'] as const)
  describe(`handing over a worklist, by the ${family} family`, () => {
    const { handOver, end, list, colleagues } = FAMILIES[family]
    let patient: Patient
    let planId: string
    let nurse: Person
    let colleague: Person
    beforeEach(async () => {
      ;[patient, nurse, colleague] = await Promise.all([createPatient(), createPerson(), createPerson()])
      planId = await createPlan(patient)
      for (const one of [nurse, colleague]) await addParticipant(planId, one, 'write')
    })

    const escalateTo = async (...people: Person[]) => {
      const participants = people.map(({ mvUid }) => mvUid)
      const rules = { escalation: { afterMinutes: 30, participants } }
      assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, rules))
    }
    const readAlert = async (id: string): Promise<Values> =>
      assertStatus(await patient.call('GET', `/med/${patient.ehrId}/event/${id}`))
    const waitForAssignee = (id: string, { mvUid }: Person, owner: Person | null = null) =>
      waitFor(async () => {
        const { assignedTo, assignedFor } = await readAlert(id)
        return (assignedTo === mvUid && assignedFor === (owner?.mvUid ?? null)) || undefined
      }, 'the assignment')
    const handOverTo = async ({ mvUid }: Person, more: Values = {}): Promise<Values> => {
      const { result, ...refusal } = await handOver(nurse, { to: mvUid, until: hoursFromNow(8), ...more })
      assert.ok(result, JSON.stringify(refusal))
      return result
    }
    const handle = async (who: Person, id: string, step: Values) =>
      (await who.call('POST', `/ehr/${patient.ehrId}/alert/${id}/handle`, step)).status

    it('reaches no colleague whose account is deleted at the same moment', async () => {
      let deletion: Promise<unknown> | undefined
      let isDeletedBefore = false
      const interrupt = async () => {
        const { mvUid, headers } = colleague
        deletion = request().delete(`/1/classes/_User/${mvUid}`).set(headers).expect(200)
        // The deletion may have to wait for the handover.
        isDeletedBefore = await Promise.race([deletion.then(() => true), sleep(1_000, false)])
      }
      let outcome: Outcome = {}
      await beforeFirstCommand(
        ({ find }) => find === 'profile.handovers',
        interrupt,
        async () => {
          outcome = await handOver(nurse, { to: colleague.mvUid, until: hoursFromNow(1) })
        },
      )
      assert.ok(!isDeletedBefore || outcome.status === 422, JSON.stringify(outcome))
      await deletion
    })

    it('outlives the profile of the owner, and still returns the alerts at its end', async () => {
      await escalateTo(nurse)
      const { id, version } = await handOverTo(colleague)
      const alert = await createAlert(patient, planId)
      await waitForAssignee(alert, colleague, nurse)
      assertStatus(await nurse.call('GET', `/profile/${nurse.mvUid}`))
      assertStatus(await nurse.call('DELETE', `/profile/${nurse.mvUid}`), 204)
      const ended = await end(nurse, id as string, version as number)
      assert.ok(ended.result, JSON.stringify(ended))
      await waitForAssignee(alert, nurse)
    })

    it('gives the colleague the alerts of the list, and returns them at the end', async () => {
      await escalateTo(nurse)
      const before = await createAlert(patient, planId)
      await waitForAssignee(before, nurse)
      const { id, version } = await handOverTo(colleague, { reason: 'On holiday' })
      const after = await createAlert(patient, planId)
      for (const alert of [before, after]) await waitForAssignee(alert, colleague, nurse)
      await waitFor(
        () =>
          mailsTo(colleague.email).some((mail) => /hands over a worklist/.test(String(mail))) || undefined,
        'a mail',
      )
      const numbers = async (who: Person) =>
        (await itemsOf(who, '/worklist')).map(({ alerts, assigned }) => [alerts, assigned])
      assert.deepEqual([await numbers(nurse), await numbers(colleague)], [[[2, 0]], [[2, 2]]])
      const ended = (await end(colleague, String(id), Number(version))).result
      assert.ok(Date.parse(String(ended?.until)) <= Date.now())
      for (const alert of [before, after]) await waitForAssignee(alert, nurse)
      const { items } = assertStatus(
        await patient.call('GET', `/med/${patient.ehrId}/event/${before}/history`),
      )
      assert.deepEqual(
        items.map(({ userId }: Values) => userId),
        ['service', 'service', 'service', patient.mvUid],
      )
    })

    it('names the users of anonymous care plans only to those who also share a named one', async () => {
      const [owner, other] = await Promise.all([createPatient(), createPerson()])
      await nameProfile(other, 'Nurse Bo')
      await nameProfile(nurse, 'Nurse Al')
      const anonymousId = await createPlan(owner, { anonymous: true })
      for (const one of [nurse, other]) await addParticipant(anonymousId, one, 'write')
      const { id } = await handOverTo(other)
      const namesFor = async (who: Person, about: Person) => {
        const one = (await colleagues(who)).find(({ mvUid }) => mvUid === about.mvUid)
        const handover = (await list(who)).find((each) => each.id === id)
        const { items } = assertStatus(await who.call('GET', `/worklist/handover/${id}/history`))
        return [one?.name, handover?.byName, handover?.toName, items[0].userName]
      }
      assert.deepEqual(await namesFor(nurse, other), [null, 'Nurse Al', null, 'Nurse Al'])
      assert.deepEqual(await namesFor(other, nurse), [null, null, 'Nurse Bo', null])
      await addParticipant(planId, other, 'write')
      assert.deepEqual(await namesFor(nurse, other), ['Nurse Bo', 'Nurse Al', 'Nurse Bo', 'Nurse Al'])
    })

    it('keeps the place in the escalation, with the full time', async () => {
      const firstColleague = await createPerson()
      const last = await createPerson()
      for (const one of [firstColleague, last]) await addParticipant(planId, one, 'write')
      await escalateTo(firstColleague, nurse, last)
      const id = await createAlert(patient, planId)
      await waitForAssignee(id, firstColleague)
      const events = service.db.collection<{ _id: string }>('Event')
      const hourAgo = new Date(Date.now() - HOUR_MS)
      const letPass = () =>
        events.updateOne({ _id: id }, { $set: { assignedAt: hourAgo, attentionAt: hourAgo } })
      await letPass()
      await waitForAssignee(id, nurse)
      const assignedAt = new Date(Date.now() - 20 * MINUTE_MS)
      await events.updateOne({ _id: id }, { $set: { assignedAt } })
      await handOverTo(colleague)
      await waitForAssignee(id, colleague, nurse)
      assert.ok(Date.parse(String((await readAlert(id)).assignedAt)) > Date.now() - MINUTE_MS)
      await letPass()
      await waitForAssignee(id, last)
    })

    it('gives no rights: alerts of plans that the colleague may not write stay with the owner', async () => {
      const sharedPlan = planId
      planId = await createPlan(patient)
      await addParticipant(planId, nurse, 'write')
      await addParticipant(planId, colleague, 'read')
      await escalateTo(nurse)
      const unshared = await createAlert(patient, planId)
      await waitForAssignee(unshared, nurse)
      const { id: handoverId } = await handOverTo(colleague)
      const pending = (collection: string, id: unknown, field: string) =>
        service.db.collection(collection).findOne({ _id: id as never, [field]: { $lte: new Date() } })
      await waitFor(
        async () => !(await pending('profile.handovers', handoverId, 'changesAt')) || undefined,
        'the beginning of the handover',
      )
      await waitFor(async () => !(await pending('Event', unshared, 'attentionAt')) || undefined, 'the review')
      planId = sharedPlan
      await escalateTo(nurse)
      await waitForAssignee(await createAlert(patient, planId), colleague, nurse)
      const { assignedTo, assignedFor } = await readAlert(unshared)
      assert.deepEqual([assignedTo, assignedFor], [nurse.mvUid, null])
      assert.equal(await handle(colleague, unshared, { action: 'TAKE' }), 403)
    })

    it('lets the colleague, and nobody else, take over what the owner has taken', async () => {
      const other = await createPerson()
      await addParticipant(planId, other, 'write')
      const id = await createAlert(patient, planId)
      assert.equal(await handle(nurse, id, { action: 'TAKE' }), 200)
      assert.equal(await handle(colleague, id, { action: 'TAKE' }), 422)
      const { id: handoverId } = await handOverTo(colleague)
      assert.equal(await handle(other, id, { action: 'TAKE' }), 422)
      const readTakenCounts = async () => (await itemsOf(colleague, '/worklist')).map((entry) => entry.taken)
      assert.deepEqual(await readTakenCounts(), [1])
      assert.equal(await handle(colleague, id, { action: 'RESOLVE', note: 'Called' }), 200)
      const { takenBy, resolution } = await readAlert(id)
      assert.deepEqual([takenBy, resolution], [colleague.mvUid, 'Called'])
      await end(nurse, String(handoverId))
      const next = await createAlert(patient, planId)
      await handle(nurse, next, { action: 'TAKE' })
      assert.equal(await handle(colleague, next, { action: 'TAKE' }), 422)
    })

    it('returns the alerts when its time is over', async () => {
      await escalateTo(nurse)
      const { id } = await handOverTo(colleague)
      const alert = await createAlert(patient, planId)
      await waitForAssignee(alert, colleague, nurse)
      const handovers = service.db.collection('profile.handovers')
      const stored = await handovers.findOne({ _id: id as never })
      const now = new Date()
      const atEnd = { _id: id as never, changesAt: stored?.until }
      assert.ok(await handovers.findOneAndUpdate(atEnd, { $set: { until: now, changesAt: now } }))
      await waitForAssignee(alert, nurse)
    })

    it('begins at its time, and never if it ends before', async () => {
      await escalateTo(nurse)
      const id = await createAlert(patient, planId)
      await waitForAssignee(id, nurse)
      const planned = await handOverTo(colleague, { from: hoursFromNow(1) })
      const { result } = await end(nurse, String(planned.id))
      assert.equal(result?.until, planned.from)
      assert.deepEqual((await end(nurse, String(planned.id))).result, result)
      await handOverTo(colleague, { from: hoursFromNow(0.5), until: hoursFromNow(2) })
      const times = { from: new Date(Date.now() - 1000), changesAt: new Date(Date.now() - 1000) }
      assert.equal((await readAlert(id)).assignedTo, nurse.mvUid)
      await waitForAssignee(await createAlert(patient, planId), nurse)
      const handovers = service.db.collection('profile.handovers')
      await handovers.updateOne(
        { by: nurse.mvUid, until: { $gt: new Date() }, from: { $lt: new Date(hoursFromNow(0.9)) } },
        { $set: times },
      )
      await waitForAssignee(id, colleague, nurse)
    })

    it('is offered to those who may write a plan of the list, with the number of these', async () => {
      const second = await createPlan(await createPatient())
      await addParticipant(second, nurse, 'write')
      const reader = await createPerson()
      await addParticipant(planId, reader, 'read')
      const displayName = 'Nurse Bo'
      assertStatus(await colleague.call('PUT', `/profile/${colleague.mvUid}`, { name: { displayName } }))
      const offeredColleague = { mvUid: colleague.mvUid, name: displayName, carePlans: 1, ofCarePlans: 2 }
      assert.deepEqual(await colleagues(nurse), [offeredColleague])
      for (const one of [await createPerson(), reader]) assert.deepEqual(await colleagues(one), [])
    })

    it('is not offered to those who could write only a closed plan', async () => {
      const closed = await createPlan(patient)
      const former = await createPerson()
      for (const one of [nurse, former]) await addParticipant(closed, one, 'write')
      assert.equal((await colleagues(nurse)).length, 2)
      assertStatus(await patient.call('POST', `careplan/${closed}/close`, { outcome: 'Done' }))
      assert.deepEqual(
        (await colleagues(nurse)).map(({ mvUid }) => mvUid),
        [colleague.mvUid],
      )
    })

    it('is refused with every fault', async () => {
      const stranger = await createPerson()
      const refusal = { status: 422, paths: 'until,until,to' }
      const until = hoursFromNow(-1)
      assert.deepEqual(await handOver(nurse, { to: stranger.mvUid, until }), refusal)
      for (const to of [nurse.mvUid, 'nobody'])
        assert.deepEqual(await handOver(nurse, { to, until: hoursFromNow(1) }), { status: 422, paths: 'to' })
      const { until: firstEnd } = await handOverTo(colleague)
      const again = { to: colleague.mvUid, from: hoursFromNow(7), until: hoursFromNow(9) }
      assert.deepEqual(await handOver(nurse, again), { status: 422, paths: 'from' })
      const from = hoursFromNow(8.5)
      assert.ok((await handOver(nurse, { ...again, from })).result)
      assert.ok((await handOver(nurse, { ...again, from: firstEnd, until: from })).result)
      const later = hoursFromNow(10)
      assert.deepEqual(await handOver(nurse, { to: colleague.mvUid, from: later, until: later }), {
        status: 422,
        paths: 'until',
      })
      const long = { to: colleague.mvUid, until: hoursFromNow(24 * 400) }
      assert.deepEqual(await handOver(colleague, { ...long, to: nurse.mvUid }), {
        status: 422,
        paths: 'until',
      })
    })

    it('allows one of two handovers of the same time', async () => {
      const body = { to: colleague.mvUid, until: hoursFromNow(1) }
      const outcomes = await Promise.all([handOver(nurse, body), handOver(nurse, body)])
      assert.deepEqual(outcomes.map(({ status = 200 }) => status).sort(), [200, 422])
    })

    it('is seen and ended by both sides only, once, with a history and audit entries', async () => {
      const since = new Date()
      const { id, version, ...handover } = await handOverTo(colleague, { reason: 'On holiday' })
      assert.deepEqual(
        [handover.by, handover.to, handover.reason],
        [nurse.mvUid, colleague.mvUid, 'On holiday'],
      )
      const stranger = await createPerson()
      const listIds = async (who: Person) => (await list(who)).map((one) => one.id)
      assert.deepEqual(
        [await listIds(nurse), await listIds(colleague), await listIds(stranger)],
        [[id], [id], []],
      )
      assert.equal((await end(stranger, String(id))).status, 404)
      assert.equal((await end(nurse, String(id), 7)).status, 412)
      const ended = await end(nurse, String(id), Number(version))
      assert.deepEqual((await end(nurse, String(id))).result, ended.result)
      const profile = { name: { displayName: 'Nurse Bo' } }
      assertStatus(await nurse.call('PUT', `/profile/${nurse.mvUid}`, profile))
      await nameProfile(colleague, 'Nurse Co')
      const history = await itemsOf(colleague, `/worklist/handover/${id}/history`)
      assert.deepEqual(
        history.map(({ version, userId, userName, action, changed }) => [
          version,
          userId,
          userName,
          action,
          changed,
        ]),
        [
          [2, nurse.mvUid, 'Nurse Bo', 'update', ['until']],
          [1, nurse.mvUid, 'Nurse Bo', 'create', []],
        ],
      )
      assert.deepEqual(
        history.map(({ before }) => (before as Values | null)?.toName),
        ['Nurse Co', undefined],
      )
      const lines = (await readAudit(patient.ehrId, since)).filter((line) => line.includes('handovers'))
      assert.deepEqual(lines.slice(0, 2), ['create profile.handovers done', 'update profile.handovers done'])
    })

    it('leaves one audit entry in the EHR, of two plans, when the colleague ends it', async () => {
      const second = await createPlan(patient)
      for (const one of [nurse, colleague]) await addParticipant(second, one, 'write')
      const { id } = await handOverTo(colleague)
      const since = new Date()
      assert.ok((await end(colleague, String(id))).result)
      const lines = (await readAudit(patient.ehrId, since)).filter((line) => line.includes('handovers'))
      assert.deepEqual(lines, ['update profile.handovers done'])
    })
  })

describe('a handover', () => {
  it('is listed by the class family as its document says', async () => {
    const { result } = await callClass(await createPerson(), 'handovers', {})
    assert.deepEqual(result, { items: [], next: null })
  })

  it('is possible to colleagues that are listed in pages', async () => {
    const [patient, nurse, ...others] = await Promise.all([
      createPatient(),
      ...[1, 2, 3, 4].map(() => createPerson()),
    ])
    const planIds = [await createPlan(patient), await createPlan(patient)]
    for (const one of [nurse as Person, ...others]) await addParticipant(planIds[0] ?? '', one, 'write')
    for (const one of [nurse as Person, others[0] as Person])
      await addParticipant(planIds[1] ?? '', one, 'write')
    const read = async (query: string) =>
      assertStatus(await (nurse as Person).call('GET', `/worklist/colleague?${query}`))
    const wholeList = await read('count=true')
    assert.equal(wholeList.page.total, 3)
    const ids = (items: Values[]) => items.map(({ mvUid }) => mvUid)
    const pages: unknown[][] = []
    let next: string | null = ''
    while (next !== null) {
      const { items, page } = await read(`limit=1${next && `&cursor=${next}`}`)
      pages.push(ids(items))
      next = page.next
    }
    assert.deepEqual(
      pages,
      ids(wholeList.items).map((id) => [id]),
    )
    assert.equal(pages[0]?.[0], others[0]?.mvUid)
  })

  it('is exported with its owner’s account, and erased with it', async () => {
    const [patient, nurse, colleague] = await Promise.all([createPatient(), createPerson(), createPerson()])
    const planId = await createPlan(patient)
    for (const one of [nurse, colleague]) await addParticipant(planId, one, 'write')
    const body = { to: colleague.mvUid, until: hoursFromNow(1) }
    const { id } = assertStatus(await nurse.call('POST', '/worklist/handover', body), 201)
    const exported = await nurse.call('GET', `/profile/${nurse.mvUid}/export`)
    assert.match(String(exported.body), new RegExp(`"handover".*${id}`))
    const { status } = await nurse.call('DELETE', `/auth/account/${nurse.mvUid}`, {
      currentPassword: nurse.password,
    })
    assert.equal(status, 204)
    assert.equal(
      await service.db.collection<{ _id: string }>('profile.handovers').countDocuments({ _id: id }),
      0,
    )
    assert.equal((await colleague.call('GET', `/worklist/handover/${id}`)).status, 404)
  })
})
