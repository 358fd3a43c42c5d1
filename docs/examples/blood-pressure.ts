import { createClient, isProblem } from 'health-record-client'

const { SERVICE = 'http://127.0.0.1:1337', EMAIL = '', PASSWORD = '' } = process.env
const say = (line: string) => process.stdout.write(`${line}\n`)

const client = createClient({ url: SERVICE })
await client.logIn({ email: EMAIL, password: PASSWORD })
const { data } = await client.GET('/ehr')
const ehrId = data.items[0]?.id ?? ''

const { id: carePlanId } = await client.carePlan.add(ehrId, { name: 'Lower blood pressure' })
for (const systolic of [128, 1280])
  try {
    await client.bloodPressure.add(ehrId, {
      carePlanId,
      timestamp: new Date().toISOString(),
      systolic,
      systolicUnit: 'mm[Hg]',
      diastolic: 82,
      diastolicUnit: 'mm[Hg]',
    })
  } catch (problem) {
    if (!isProblem(problem)) throw problem
    for (const { path, message } of problem.errors) say(`${path}: ${message}`)
  }

for await (const { systolic, diastolic, condition } of client.bloodPressure.list(ehrId))
  say(`${systolic}/${diastolic}: ${condition}`)
