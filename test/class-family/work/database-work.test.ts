import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { classKindOf } from '../../../records/kinds.ts'
import { isMeasurementKind } from '../../../records/measurements/measurement.ts'
import { markedFieldNames } from '../../../schemas/forms/fields.ts'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { exampleObject, parentIdsOf } from '../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { assertNoScan, assertNoSort, recordCommands } from '../../harness/service/database-commands.ts'

const namesOf = (commands: Document[]) => commands.map(({ commandName }) => commandName)

describe('database work of the class family', () => {
  let user: Person
  let carePlanId: string
  let pressureId: string

  before(async () => {
    user = await createPerson()
    ;({ carePlanId } = await createPlanInOwnEhr(user))
    pressureId = (
      await createClassClient(user).post('BloodPressure', createPressureObject(carePlanId)).expect(201)
    ).body.objectId
  })

  it('is one lookup for a new record; an update reads the record twice, and its thresholds', async () => {
    const { get, post, put } = createClassClient(user)
    assert.deepEqual(namesOf(await recordCommands(() => get('BloodPressure', pressureId).expect(200))), [
      'find',
    ])
    const created = await recordCommands(() =>
      post('BloodPressure', createPressureObject(carePlanId)).expect(201),
    )
    assert.deepEqual(namesOf(created), ['aggregate', 'insert'])
    const updated = await recordCommands(() =>
      put('BloodPressure', pressureId, { systolic: 130 }).expect(200),
    )
    assert.deepEqual(namesOf(updated), ['find', 'find', 'find', 'update'])
    const commands = await recordCommands(() =>
      put('BloodPressure', pressureId, { comment: 'x' }).expect(200),
    )
    assert.deepEqual(namesOf(commands), ['find', 'find', 'update'])
  })

  it('is shared by records that are added at the same time', async () => {
    const { post } = createClassClient(user)
    const pressures = Array.from({ length: 12 }, () =>
      post('BloodPressure', createPressureObject(carePlanId)).expect(201),
    )
    const commands = namesOf(await recordCommands(() => Promise.all(pressures)))
    assert.ok(commands.filter((name) => name === 'insert').length < 12, commands.join())
  })

  it('never scans a whole collection', async () => {
    const { get, list, post, put, delete: remove } = createClassClient(user)
    const commands = await recordCommands(async () => {
      const ehrId = await ehrOf(user)
      const plan = (await post('CarePlan', { ehrId, name: 'x' }).expect(201)).body.objectId
      const goal = (await post('Goal', { ehrId, carePlanId: plan, name: 'x' }).expect(201)).body.objectId
      await post('BloodPressure', createPressureObject(plan)).expect(201)
      await put('Goal', goal, { status: 'COMPLETED' }).expect(200)
      await get('CarePlan', plan).expect(200)
      await list('BloodPressure').query({ order: '-timestamp', limit: 5 }).expect(200)
      await list('BloodPressure', { carePlanId: plan }).query({ order: '-timestamp' }).expect(200)
      await list('Custom', { ehrId }).expect(200)
      await remove('CarePlan', plan).expect(200)
      const other = (await post('Ehr', { subjectId: 'patient 30' }).expect(201)).body.objectId
      await list('CarePlan', { ehrId: other }).expect(200)
      await remove('Ehr', ehrId).expect(200)
      await createPerson()
    })
    assert.ok(commands.length > 40)
    await assertNoScan(commands)
  })
})

describe('database work for each class', () => {
  let user: Person
  let ids: { ehrId: string; carePlanId: string; goalId: string }

  before(async () => {
    user = await createPerson()
    const plan = await createPlanInOwnEhr(user)
    const { objectId } = (
      await createClassClient(user)
        .post('Goal', { ...plan, name: 'x' })
        .expect(201)
    ).body
    ids = { ...plan, goalId: objectId }
  })

  for (const name of SAMPLED_KINDS)
    it(`finds each ${name} by its parents`, async () => {
      const { post, get, list } = createClassClient(user)
      const where = parentIdsOf(name, ids)
      const { objectId } = (await post(name, { ...exampleObject(name), ...where }).expect(201)).body
      const commands = await recordCommands(async () => {
        await get(name, objectId).expect(200)
        for (const [id, value] of Object.entries(where)) await list(name, { [id]: value }).expect(200)
        await list(name, {}).expect(200)
      })
      assert.ok(commands.length > Object.keys(where).length)
      await assertNoScan(commands)
    })

  for (const name of SAMPLED_KINDS)
    it(`finds and counts the newest ${name} that its reader may see, without reading others`, async () => {
      const { list } = createClassClient(user)
      const internal = markedFieldNames(classKindOf(name).fields, 'internal')
      const newest = Object.values(classKindOf(name).lists)
        .map(({ sort }) => sort as string)
        .filter((field) => !internal.includes(field))
      const commands = await recordCommands(async () => {
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
    it(`finds each ${name} by parent and time, and by a value, without reading others`, async () => {
      const { list } = createClassClient(user)
      const kind = classKindOf(name)
      const internal = markedFieldNames(kind.fields, 'internal')
      const lists = Object.values(kind.lists).filter(({ sort }) => !internal.includes(sort as string))
      const commands = await recordCommands(async () => {
        for (const [id, value] of Object.entries(ids))
          for (const { sort } of lists.filter(({ requiredFields: by }) => by.join() === id)) {
            const since = { $gte: { __type: 'Date', iso: '2020-01-01T00:00:00.000Z' } }
            await list(name, { [id]: value, [sort]: since })
              .query({ order: `-${sort}`, limit: 20 })
              .expect(200)
          }
        for (const quantity of isMeasurementKind(kind) ? Object.keys(kind.quantities) : [])
          await list(name, { [quantity]: { $gte: 175 } })
            .query({ order: `-${quantity}`, limit: 20 })
            .expect(200)
      })
      await assertNoSort(commands.filter((command) => command[command.commandName] === name))
    })
})
