/** The handwritten service to compare the path family with: Express, jose and the driver. */
import { hash, verify } from '@node-rs/bcrypt'
import express, { type RequestHandler } from 'express'
import { generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { MongoClient } from 'mongodb'

// biome-ignore lint/suspicious/noExplicitAny: documents without a schema, as one finds them in the field
type Document = { _id: string; [field: string]: any }

const client = await MongoClient.connect(process.env.MONGODB_URI ?? '')
const collection = (name: string) => client.db().collection<Document>(name)
const users = collection('users')
const sessions = collection('sessions')
const persons = collection('persons')
const contacts = collection('contacts')
await contacts.createIndex({ owner: 1, createdAt: 1 })
const ehrs = collection('Ehr')
const plans = collection('CarePlan')
const goals = collection('Goal')
const tasks = collection('Task')
const pressures = collection('BloodPressure')
await pressures.createIndex({ ehrId: 1, timestamp: -1 })
const measurements = collection('Measurement')
const topics = collection('ChatTopic')
const messages = collection('ChatMessage')
const marks = collection('chat.read')
await measurements.createIndex({ owner: 1, timestamp: -1 })
await messages.createIndex({ topicId: 1, createdAt: 1 })
await goals.createIndex({ carePlanId: 1 })
await tasks.createIndex({ carePlanId: 1 })
await tasks.createIndex({ ehrId: 1, status: 1, dueDate: 1 })
const { privateKey, publicKey } = await generateKeyPair('ES256')

const requireToken: RequestHandler = async (request, response, next) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const claims = await jwtVerify(token, publicKey).then(
    ({ payload }) => payload,
    () => undefined,
  )
  if (claims?.sub === request.params.id) next()
  else response.status(401).end()
}

const app = express().use(express.json())
app.post('/users', async ({ body: { id, email, password, person, ofPerson } }, response) => {
  await users.insertOne({ _id: id, email, password: await hash(password, 10) })
  await persons.insertOne({ _id: id, ...person })
  const owned = ofPerson.map((contact: Document) => ({ ...contact, owner: id, createdAt: new Date() }))
  if (owned.length > 0) await contacts.insertMany(owned)
  response.json({})
})
app.post('/login', async ({ body: { email, password } }, response) => {
  const user = await users.findOne({ email })
  if (!user || !(await verify(password, String(user.password)))) return void response.status(401).end()
  const session = await sessions.insertOne({
    _id: crypto.randomUUID(),
    user: user._id,
    createdAt: new Date(),
  })
  const token = new SignJWT({ sid: session.insertedId })
    .setProtectedHeader({ alg: 'ES256' })
    .setSubject(user._id)
  response.json({ authToken: await token.setExpirationTime('15m').sign(privateKey) })
})
app.get('/profile/:id', requireToken, async ({ params: { id = '' } }, response) => {
  response.json(await persons.findOne({ _id: id }))
})
app.get('/profile/:id/contact', requireToken, async ({ params: { id }, query: { limit } }, response) => {
  response.json(await contacts.find({ owner: id }).sort({ createdAt: 1 }).limit(Number(limit)).toArray())
})
app.put('/profile/:id/contact/:contact', requireToken, async ({ params, body }, response) => {
  const { id, contact = '' } = params
  const updatedContact = await contacts.findOneAndUpdate(
    { _id: contact, owner: id },
    { $set: body, $inc: { version: 1 } },
    { returnDocument: 'after' },
  )
  response.json(updatedContact)
})
app.get('/med/:id/:ehrId/careplan/todo', requireToken, async ({ params, query }, response) => {
  const { id, ehrId } = params
  const open = tasks.find({ ehrId, status: 'ACTIVE', _rperm: id }).sort({ dueDate: 1 })
  response.json(await open.limit(Number(query.limit)).toArray())
})
app.get('/med/:id/:ehrId/procedure/bloodpressure', requireToken, async ({ params, query }, response) => {
  const matches = pressures.find({ ehrId: params.ehrId, _rperm: params.id })
  response.json(await matches.sort({ timestamp: -1 }).limit(Number(query.limit)).toArray())
})
app.post('/med/:id/:ehrId/procedure/bloodpressure', requireToken, async ({ params, body }, response) => {
  const { id = '', ehrId } = params
  const plan = await plans.findOne({ _id: body.carePlanId, ehrId, _wperm: id })
  if (!plan) return void response.status(404).end()
  const permissions = { _rperm: plan._rperm, _wperm: plan._wperm }
  const timestamp = new Date(body.timestamp)
  const measured = { _id: crypto.randomUUID(), ...body, timestamp, ehrId, version: 1, ...permissions }
  await pressures.insertOne(measured)
  response.status(201).json(measured)
})
async function withGoals(plan: Document, id: unknown): Promise<object> {
  const ofPlan = { carePlanId: plan._id, _rperm: id }
  const [itsGoals, itsTasks] = await Promise.all([goals.find(ofPlan).toArray(), tasks.find(ofPlan).toArray()])
  const withTasks = itsGoals.map((goal) => ({
    ...goal,
    tasks: itsTasks.filter(({ goalId }) => goalId === goal._id),
  }))
  return { ...plan, goals: withTasks }
}
app.get('/med/:id/:ehrId/careplan/:plan', requireToken, async ({ params }, response) => {
  const { id, ehrId, plan: _id = '' } = params
  const plan = await plans.findOne({ _id, ehrId, _rperm: id })
  if (plan) response.json(await withGoals(plan, id))
  else response.status(404).end()
})
app.post('/med/:id/:ehrId/careplan', requireToken, async ({ params, body }, response) => {
  const { id = '', ehrId = '' } = params
  if (!(await ehrs.findOne({ _id: ehrId, _wperm: id }))) return void response.status(404).end()
  const permissions = { _rperm: [id], _wperm: [id] }
  const plan = { _id: crypto.randomUUID(), ...body, ehrId, status: 'ACTIVE', version: 1, ...permissions }
  await plans.insertOne(plan)
  response.status(201).json(plan)
})
app.put('/med/:id/:ehrId/careplan/:plan', requireToken, async ({ params, body }, response) => {
  const { id, ehrId, plan: _id = '' } = params
  const updatedPlan = await plans.findOneAndUpdate(
    { _id, ehrId, _wperm: id },
    { $set: body, $inc: { version: 1 } },
    { returnDocument: 'after' },
  )
  if (updatedPlan) response.json(await withGoals(updatedPlan, id))
  else response.status(404).end()
})
app.get('/data/:id/measurement', requireToken, async ({ params: { id }, query: { limit } }, response) => {
  const matches = measurements.find({ owner: id, _rperm: id }).sort({ timestamp: -1 })
  response.json(await matches.limit(Number(limit)).toArray())
})
app.post('/talk', async ({ body: { id } }, response) => {
  const planId = crypto.randomUUID()
  const topicId = crypto.randomUUID()
  await plans.insertOne({ _id: planId, _rperm: [id], _wperm: [id] })
  await topics.insertOne({ _id: topicId, carePlanId: planId, createdBy: id, lastMessageAt: new Date() })
  response.json({ planId, topicId })
})
/** The topic of a plan, for those who may read the plan. */
async function topicOf({ id, plan = '', topic = '' }: Record<string, string>): Promise<Document | null> {
  if (!(await plans.findOne({ _id: plan, _rperm: id }))) return null
  return topics.findOne({ _id: topic, carePlanId: plan })
}
app.post('/chat/:id/:plan/:topic', requireToken, async ({ params, body: { text } }, response) => {
  const { id, topic: topicId = '' } = params as Record<string, string>
  const topic = await topicOf(params as Record<string, string>)
  if (!topic || topic.closed) return void response.status(404).end()
  const createdAt = new Date()
  const message = { _id: crypto.randomUUID(), topicId, text, createdBy: id, createdAt, version: 1 }
  await messages.insertOne(message)
  await topics.updateOne({ _id: topicId }, { $max: { lastMessageAt: createdAt } })
  response.status(201).json(message)
})
app.get('/chat/:id/:plan/:topic', requireToken, async ({ params, query: { limit } }, response) => {
  const { id = '', topic: topicId = '' } = params as Record<string, string>
  const topic = await topicOf(params as Record<string, string>)
  if (!topic) return void response.status(404).end()
  const newest = messages.find({ topicId }).sort({ createdAt: -1 }).limit(Number(limit)).toArray()
  const mark = await marks.findOne({ _id: `${topicId}/${id}` })
  const unreadFilter = { topicId, createdAt: { $gt: mark?.readTo ?? new Date(0) }, createdBy: { $ne: id } }
  const unread = await messages.countDocuments(unreadFilter, { limit: 100 })
  const items = (await newest).reverse()
  const authors = persons.find({ _id: { $in: [...new Set(items.map(({ createdBy }) => createdBy))] } })
  const names = new Map((await authors.toArray()).map(({ _id, name }) => [_id, name]))
  response.json({
    ...topic,
    unread,
    items: items.map((one) => ({ ...one, author: { mvUid: one.createdBy, name: names.get(one.createdBy) } })),
  })
})
app.listen(Number(process.env.PORT), '127.0.0.1')
