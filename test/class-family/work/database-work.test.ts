import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { sweepRemovals } from '../../../records/ehrs/removal/removal.ts'
import { classKind, contents } from '../../../records/kinds.ts'
import { isMeasurement } from '../../../records/measurements/measurement.ts'
import { namesOf } from '../../../schemas/forms/fields.ts'
import { ehrOf, newPlan, newPressure } from '../../harness/care/by-class-family.ts'
import { exampleObject, placeOf } from '../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { classesOf } from '../../harness/clients/class-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { assertNoScan, assertNoSort, commandsOf } from '../../harness/service/database-commands.ts'
import { service } from '../../harness/service/service.ts'

const named = (commands: Document[]) => commands.map(({ commandName }) => commandName)

describe('the work of the database', () => {
  let user: Person
  let carePlanId: string
  let pressureId: string

  before(async () => {
    user = await newPerson()
    ;({ carePlanId } = await newPlan(user))
    pressureId = (await classesOf(user).post('BloodPressure', newPressure(carePlanId)).expect(201)).body
      .objectId
  })

  it('is one lookup more to register something, and reads of it, its plan and its alert to update it', async () => {
    const { get, post, put } = classesOf(user)
    assert.deepEqual(named(await commandsOf(() => get('BloodPressure', pressureId).expect(200))), ['find'])
    const created = await commandsOf(() => post('BloodPressure', newPressure(carePlanId)).expect(201))
    assert.deepEqual(named(created), ['aggregate', 'insert'])
    const updated = await commandsOf(() => put('BloodPressure', pressureId, { systolic: 130 }).expect(200))
    assert.deepEqual(named(updated), ['find', 'find', 'aggregate', 'findAndModify'])
    const said = await commandsOf(() => put('BloodPressure', pressureId, { comment: 'x' }).expect(200))
    assert.deepEqual(named(said), ['find', 'findAndModify'])
  })

  it('is shared by what is registered at the same moment', async () => {
    const { post } = classesOf(user)
    const pressures = Array.from({ length: 12 }, () =>
      post('BloodPressure', newPressure(carePlanId)).expect(201),
    )
    const commands = named(await commandsOf(() => Promise.all(pressures)))
    assert.ok(commands.filter((name) => name === 'insert').length < 12, commands.join())
  })

  it('never goes through a whole collection', async () => {
    const { get, list, post, put, delete: remove } = classesOf(user)
    const commands = await commandsOf(async () => {
      const ehrId = await ehrOf(user)
      const plan = (await post('CarePlan', { ehrId, name: 'x' }).expect(201)).body.objectId
      const goal = (await post('Goal', { ehrId, carePlanId: plan, name: 'x' }).expect(201)).body.objectId
      await post('BloodPressure', newPressure(plan)).expect(201)
      await put('Goal', goal, { status: 'COMPLETED' }).expect(200)
      await get('CarePlan', plan).expect(200)
      await list('BloodPressure').query({ order: '-timestamp', limit: 5 }).expect(200)
      await list('BloodPressure', { carePlanId: plan }).query({ order: '-timestamp' }).expect(200)
      await list('Custom', { ehrId }).expect(200)
      await remove('CarePlan', plan).expect(200)
      await sweepRemovals({ ...service, contents })
      const other = (await post('Ehr', { subjectId: 'patient 30' }).expect(201)).body.objectId
      await list('CarePlan', { ehrId: other }).expect(200)
      await remove('Ehr', ehrId).expect(200)
      await newPerson()
    })
    assert.ok(commands.length > 40)
    await assertNoScan(commands)
  })
})

describe('the work of the database for every class', () => {
  let user: Person
  let ids: { ehrId: string; carePlanId: string; goalId: string }

  before(async () => {
    user = await newPerson()
    const plan = await newPlan(user)
    const { objectId } = (
      await classesOf(user)
        .post('Goal', { ...plan, name: 'x' })
        .expect(201)
    ).body
    ids = { ...plan, goalId: objectId }
  })

  for (const name of SAMPLED_KINDS)
    it(`finds each ${name} by what it is registered in`, async () => {
      const { post, get, list } = classesOf(user)
      const where = placeOf(name, ids)
      const { objectId } = (await post(name, { ...exampleObject(name), ...where }).expect(201)).body
      const commands = await commandsOf(async () => {
        await get(name, objectId).expect(200)
        for (const [id, value] of Object.entries(where)) await list(name, { [id]: value }).expect(200)
        await list(name, {}).expect(200)
      })
      assert.ok(commands.length > Object.keys(where).length)
      await assertNoScan(commands)
    })

  for (const name of SAMPLED_KINDS)
    it(`finds the newest ${name} of all that its reader may see, and counts them, without a look at the others`, async () => {
      const { list } = classesOf(user)
      const internal = namesOf(classKind(name).fields, 'internal')
      const newest = Object.values(classKind(name).lists)
        .map(({ sort }) => sort as string)
        .filter((field) => !internal.includes(field))
      const commands = await commandsOf(async () => {
        for (const field of new Set(['createdAt', ...newest])) {
          await list(name, {})
            .query({ order: `-${field}`, limit: 20 })
            .expect(200)
          const since = { [field]: { $gte: { __type: 'Date', iso: '2020-01-01T00:00:00.000Z' } } }
          await list(name, since)
            .query({ order: `-${field}`, limit: 20 })
            .expect(200)
        }
        await list(name, {}).query({ count: 1, limit: 0 }).expect(200)
      })
      await assertNoSort(commands.filter((command) => command[command.commandName] === name))
    })

  for (const name of SAMPLED_KINDS)
    it(`finds each ${name} by its place and time, and by a value, without a look at the others`, async () => {
      const { list } = classesOf(user)
      const kind = classKind(name)
      const internal = namesOf(kind.fields, 'internal')
      const lists = Object.values(kind.lists).filter(({ sort }) => !internal.includes(sort as string))
      const commands = await commandsOf(async () => {
        for (const [id, value] of Object.entries(ids))
          for (const { sort } of lists.filter(({ by }) => by.join() === id)) {
            const since = { $gte: { __type: 'Date', iso: '2020-01-01T00:00:00.000Z' } }
            await list(name, { [id]: value, [sort]: since })
              .query({ order: `-${sort}`, limit: 20 })
              .expect(200)
          }
        for (const quantity of isMeasurement(kind) ? Object.keys(kind.quantities) : [])
          await list(name, { [quantity]: { $gte: 175 } })
            .query({ order: `-${quantity}`, limit: 20 })
            .expect(200)
      })
      await assertNoSort(commands.filter((command) => command[command.commandName] === name))
    })
})
