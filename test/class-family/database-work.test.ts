import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { Document } from 'mongodb'
import { newUser, service, type TestUser } from '../helper.ts'
import { classesOf, ehrOf, newPlan, newPressure } from './client.ts'

type Send = (this: unknown, namespace: unknown, command: Document, ...more: unknown[]) => unknown

/** What the driver sends by; the service does not listen to single commands, since that costs every request. */
const { Connection }: { Connection: { prototype: { command: Send } } } = createRequire(import.meta.url)(
  'mongodb/lib/cmap/connection',
)

/** The commands on classes, users and roles that some work sends to the database. */
async function commandsOf(work: () => PromiseLike<unknown>): Promise<Document[]> {
  const commands: Document[] = []
  const { command: send } = Connection.prototype
  Connection.prototype.command = function (namespace, command, ...more) {
    const commandName = Object.keys(command)[0] ?? ''
    if (/^(_User|_Role|_Join.*|[A-Z][A-Za-z]+)$/.test(command[commandName]))
      commands.push({ ...command, commandName })
    return send.call(this, namespace, command, ...more)
  }
  try {
    await work()
  } finally {
    Connection.prototype.command = send
  }
  return commands
}

const named = (commands: Document[]) => commands.map(({ commandName }) => commandName)

/** The conditions of a command, as finds. */
const conditionsOf = (command: Document): Document[] => {
  if (command.filter ?? command.query) return [command.filter ?? command.query]
  return [...(command.updates ?? []), ...(command.deletes ?? [])].map(({ q }: Document) => q)
}

async function planOf(command: Document, filter: Document): Promise<string> {
  const find = { find: command[command.commandName], filter, ...(command.sort && { sort: command.sort }) }
  const { queryPlanner } = await service.db.command({ explain: find, verbosity: 'queryPlanner' })
  return JSON.stringify(queryPlanner.winningPlan)
}

describe('the work of the database', () => {
  let user: TestUser
  let carePlanId: string
  let pressureId: string

  before(async () => {
    user = await newUser()
    ;({ carePlanId } = await newPlan(user))
    pressureId = (await classesOf(user).post('BloodPressure', newPressure(carePlanId)).expect(201)).body
      .objectId
  })

  it('is one lookup more to register something, and two reads more to update it and keep what was there', async () => {
    const { get, post, put } = classesOf(user)
    assert.deepEqual(named(await commandsOf(() => get('BloodPressure', pressureId).expect(200))), ['find'])
    const created = await commandsOf(() => post('BloodPressure', newPressure(carePlanId)).expect(201))
    assert.deepEqual(named(created), ['find', 'insert'])
    const updated = await commandsOf(() => put('BloodPressure', pressureId, { systolic: 130 }).expect(200))
    assert.deepEqual(named(updated), ['find', 'find', 'findAndModify'])
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
      const other = (await post('Ehr', { subjectId: 'patient 30' }).expect(201)).body.objectId
      await list('CarePlan', { ehrId: other }).expect(200)
      await remove('Ehr', other).expect(200)
      await newUser()
    })
    assert.ok(commands.length > 40)
    for (const command of commands)
      for (const filter of conditionsOf(command)) {
        const plan = await planOf(command, filter)
        assert.doesNotMatch(plan, /COLLSCAN/, `${command[command.commandName]} ${JSON.stringify(filter)}`)
      }
  })
})
