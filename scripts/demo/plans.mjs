import { setTimeout as sleep } from 'node:timers/promises'

const BATCH_SIZE = 500
const ALERT_TIMEOUT_MS = 30_000

/** Adds participants; each may write. */
async function addParticipants({ client }, path, participants) {
  for (const { mvUid, role } of participants)
    await client.POST('/ehr/{ehrId}/careplan/{careplanId}/participant', {
      params: { path },
      body: { mvUid, role, access: 'WRITE' },
    })
}

/**
 * @param goals each with its tasks
 * @returns the id of the plan
 */
export async function addPlan(patient, { goals, thresholds, ...body }, participants) {
  const { client, ehrId } = patient
  const created = await client.POST('/ehr/{ehrId}/careplan', { params: { path: { ehrId } }, body })
  const path = { ehrId, careplanId: created.data.id }
  await addParticipants(patient, path, participants)
  if (thresholds)
    await client.PUT('/ehr/{ehrId}/careplan/{careplanId}/thresholds', { params: { path }, body: thresholds })
  for (const { tasks, ...goal } of goals) {
    const goalPath = '/ehr/{ehrId}/careplan/{careplanId}/goal'
    const { id: goalId } = (await client.POST(goalPath, { params: { path }, body: goal })).data
    for (const task of tasks)
      await client.POST(`${goalPath}/{goalId}/task`, { params: { path: { ...path, goalId } }, body: task })
  }
  return path.careplanId
}

/** @param client that of the person, or of a helper who acts for them */
export async function addMeasurements({ client, ehrId }, items) {
  for (let at = 0; at < items.length; at += BATCH_SIZE)
    await client.POST('/ehr/{ehrId}/procedure/batch', {
      params: { path: { ehrId } },
      body: { items: items.slice(at, at + BATCH_SIZE) },
    })
}

/** Takes the newest alert of a patient, and leaves the others. */
export async function takeAlert({ client }, { ehrId }) {
  const query = { type: 'measurement-alert' }
  const deadline = Date.now() + ALERT_TIMEOUT_MS
  for (;;) {
    const { items } = (await client.GET('/med/{ehrId}/event', { params: { path: { ehrId }, query } })).data
    const [newest, ...others] = items.toSorted((a, b) => (a.start < b.start ? 1 : -1))
    if (others.length > 0) {
      const params = { path: { ehrId, alertId: newest.id } }
      await client.POST('/ehr/{ehrId}/alert/{alertId}/handle', { params, body: { action: 'TAKE' } })
      return
    }
    if (Date.now() > deadline) throw new Error('The measurements raised no alerts.')
    await sleep(100)
  }
}

/** Starts a topic, and answers in it. @param subject type and id of what they talk about */
export async function addConversation(asking, answering, subject, { title, text, answer }) {
  const { data } = await asking.client.POST('/chat/{type}/{id}', {
    params: { path: subject },
    body: { title, text },
  })
  if (answer)
    await answering.client.POST('/chat/{type}/{id}/{topicId}', {
      params: { path: { ...subject, topicId: data.id } },
      body: { text: answer },
    })
}
