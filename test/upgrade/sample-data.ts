import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tokenInLink, waitForMailIn } from '../harness/mail/outbox.ts'

/** A service that runs on a data directory, whichever version of it. */
export interface Target {
  url: string
  dataDir: string
}

type Json = Record<string, unknown>
type Ids = Record<string, string>

interface Step {
  /** The name of the record, for `{name}` in the paths and bodies of later steps. */
  name: string
  method?: 'POST' | 'PUT'
  path: string
  body: Json
}

const PASSWORD = 'correct horse battery staple'
export const EMAIL = 'ann@upgrade.example.org'

const timeOf = (day: number, hour = 8): string =>
  `2026-11-${String(day).padStart(2, '0')}T${String(hour).padStart(2, '0')}:00:00.000Z`
const date = (day: number): Json => ({ __type: 'Date', iso: timeOf(day) })

const object = (name: string, className: string, body: Json): Step => ({
  name,
  path: `/1/classes/${className}`,
  body: { carePlanId: '{plan}', ...body },
})
const resource = (name: string, path: string, body: Json): Step => ({ name, path, body })
const correction = (step: Step, id: string): Step => ({
  ...step,
  method: 'PUT',
  path: `${step.path}/{${id}}`,
})

const pressure = (name: string, day: number, [systolic, diastolic]: [number, number?], unit = 'mm[Hg]') =>
  object(name, 'BloodPressure', {
    timestamp: date(day),
    systolic,
    systolicUnit: unit,
    deviceId: 'cuff-1',
    ...(diastolic !== undefined && { diastolic, diastolicUnit: unit }),
  })

/** Records of every kind that some released version stored; a version refuses those that it does not know. */
const STEPS: readonly Step[] = [
  object('plan', 'CarePlan', { carePlanId: undefined, ehrId: '{ehr}', name: 'Lower my blood pressure' }),
  resource('goal', '/ehr/{ehr}/careplan/{plan}/goal', { name: 'Walk half an hour a day' }),
  resource('task', '/ehr/{ehr}/careplan/{plan}/goal/{goal}/task', { name: 'Buy good shoes' }),
  pressure('normal', 1, [118, 76]),
  pressure('high', 2, [142, 88]),
  pressure('kilopascal', 3, [20, 12], 'kPa'),
  pressure('systolic-only', 4, [131]),
  pressure('corrected', 5, [190, 95]),
  correction(object('correction', 'BloodPressure', { carePlanId: undefined, systolic: 134 }), 'corrected'),
  ...[70, 25].map((weight, i) =>
    object(`bmi-${i}`, 'BodyMassIndex', {
      timestamp: date(6 + i),
      weight,
      weightUnit: 'kg',
      height: 175 - i * 60,
      heightUnit: 'cm',
    }),
  ),
  object('temperature', 'BodyTemperature', {
    timestamp: date(8),
    temperature: 101.3,
    temperatureUnit: '[degF]',
    location: 'oral',
  }),
  object('weight', 'BodyWeight', { timestamp: date(9), weight: 154, weightUnit: '[lb_av]' }),
  object('pulse', 'HeartRate', { timestamp: date(9), heartRate: 64, heartRateUnit: '/min' }),
  object('glucose', 'BloodGlucose', { timestamp: date(10), bloodGlucose: 99, bloodGlucoseUnit: 'mg/dL' }),
  object('saturation', 'OxygenSaturation', {
    timestamp: date(10),
    oxygenSaturation: 97,
    oxygenSaturationUnit: '%',
  }),
  object('acq', 'Acq', { timestamp: date(11), acqVersion: 6, answers: [1, 2, 0, 1, 3, 2] }),
  object('custom', 'Custom', { ehrId: '{ehr}', modelClassName: 'Mood', payload: { mood: 'good', level: 4 } }),
  resource('appointment', '/med/{ehr}/event', {
    carePlanId: '{plan}',
    type: 'appointment',
    title: 'Yearly check-up',
    start: timeOf(12),
    end: timeOf(12, 9),
    participants: [{ mvUid: '{ann}', status: 'ACCEPTED' }],
  }),
  resource('holiday', '/med/{ehr}/event', {
    type: 'holiday',
    title: 'In the mountains',
    start: '2026-09-01T00:00:00.000Z',
    end: timeOf(3),
  }),
  resource('diagnosis', '/ehr/{ehr}/diagnosis', { name: 'High blood pressure', onset: '2024-11-01' }),
  {
    ...resource('device', '/ehr/{ehr}/device', { serial: 'W-1', type: 'watch', name: 'Watch' }),
    method: 'PUT',
  },
  {
    ...resource('reaction', '/ehr/{ehr}/adversereaction/Penicillin', { criticality: 'high' }),
    method: 'PUT',
  },
  resource('steps', '/data/{ann}/measurement', {
    carePlanId: '{plan}',
    dataType: 'steps',
    value: 5300,
    timestamp: timeOf(13),
  }),
  resource('fall', '/data/{ann}/event/fall', {
    carePlanId: '{plan}',
    timestamp: timeOf(14),
    data: { injured: false },
  }),
  {
    ...resource('profile', '/profile/{ann}', { name: { displayName: 'Ann Example' }, language: 'nl' }),
    method: 'PUT',
  },
]

/** Ends far ahead, because the timeline shows plans and reactions at the time when they were stored. */
const PERIOD = 'from=2026-08-01T00:00:00Z&to=2100-01-01T00:00:00Z'
const SYSTOLIC = 'o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude'
const PRESSURES = `FROM EHR e[ehr_id/value='{ehr}'] CONTAINS COMPOSITION c CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]`
const aql = (query: string): string =>
  `/med/aql?q=${encodeURIComponent(query).replace(/%7Behr%7D/g, '{ehr}')}`
const where = (conditions: Json): string => encodeURIComponent(JSON.stringify(conditions))

/** The parts of a person's records that a version shows or derives; `{}` names records as in the steps. */
const DOORS: readonly string[] = [
  ...['bloodpressure', 'bmi', 'bodytemperature', 'acq', 'hads'].flatMap((kind) => [
    `/ehr/{ehr}/procedure/${kind}?order=asc`,
    `/ehr/{ehr}/procedure/${kind}/omh`,
  ]),
  `/ehr/{ehr}/summary/timeline?${PERIOD}&limit=100`,
  `/ehr/{ehr}/summary/medgraph?${PERIOD}&measures=bloodpressure,bmi,bodytemperature`,
  aql(`SELECT ${SYSTOLIC} AS systolic ${PRESSURES} ORDER BY systolic`),
  aql(`SELECT ${SYSTOLIC} AS systolic ${PRESSURES} WHERE ${SYSTOLIC} >= 140 ORDER BY systolic`),
  aql(`SELECT COUNT(*) AS n, AVG(${SYSTOLIC}) AS mean ${PRESSURES}`),
  `/1/classes/BloodPressure?order=systolicMmHg&where=${where({ systolicMmHg: { $gte: 140 } })}`,
  ...[
    'BloodPressure',
    'BodyMassIndex',
    'BodyTemperature',
    'Acq',
    'Custom',
    'Event',
    'CarePlan',
    'Goal',
    'Task',
  ].map((name) => `/1/classes/${name}?order=createdAt&limit=100`),
  '/med/{ehr}/event?limit=100',
  `/med/{ehr}/event?from=${timeOf(12)}&to=${timeOf(12, 10)}`,
  `/med/{ehr}/event?from=2026-10-01T00:00:00Z&to=2026-10-02T00:00:00Z`,
  '/med/{ehr}/event-participation',
  '/ehr/{ehr}/diagnosis?search=blood%20pres',
  '/ehr/{ehr}/device',
  '/ehr/{ehr}/adversereaction',
  '/data/{ann}/measurement?dataType=steps&aggregate=month',
  '/data/{ann}/event?eventType=fall',
  '/ehr/{ehr}/procedure/bloodpressure/{corrected}/history',
  '/med/{ehr}/careplan/{plan}/history',
  '/med/{ehr}/event/{holiday}/history',
  '/ehr/',
  '/ehr/{ehr}/careplan',
  '/ehr/{ehr}/careplan/todo',
  '/ehr/{ehr}/careplan/{plan}/participant',
  '/profile/{ann}',
  '/profile/{ann}/export',
]

/** The service as its one user sees it. */
export interface Session {
  target: Target
  headers: Record<string, string>
  ids: Ids
}

const fill = (text: string, ids: Ids): string =>
  text.replace(/\{([a-z][\w-]*)\}/g, (whole, name) => ids[name] ?? whole)

async function call(
  { target, headers }: Pick<Session, 'target' | 'headers'>,
  method: string,
  path: string,
  body?: string,
) {
  const init = { method, headers, ...(body !== undefined && { body }) }
  const answer = await fetch(target.url + path, init)
  return {
    status: answer.status,
    body: bodyIn(await answer.text(), answer.headers.get('content-type') ?? ''),
  }
}

function bodyIn(text: string, type: string) {
  if (type.includes('ndjson'))
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  return type.includes('json') ? JSON.parse(text) : text
}

/** Registers the user, as every version does it, and follows the mailed link. */
export async function register(target: Target, email = EMAIL): Promise<void> {
  const anyone = { target, headers: headersOf(target) }
  const account = JSON.stringify({ email, password: PASSWORD, termsAccepted: true })
  await call(anyone, 'POST', '/auth/account/register/password', account)
  const token = tokenInLink(await waitForMailIn(target.dataDir, email))
  await call(anyone, 'POST', '/auth/account/register/activate', JSON.stringify({ token }))
}

function headersOf({ dataDir }: Target): Record<string, string> {
  const { applicationId, restApiKey } = JSON.parse(readFileSync(join(dataDir, 'keys.json'), 'utf8'))
  return {
    'X-Parse-Application-Id': applicationId,
    'X-Parse-REST-API-Key': restApiKey,
    'Content-Type': 'application/json',
  }
}

export async function logIn(target: Target, ids: Ids = {}, email = EMAIL): Promise<Session> {
  const headers = headersOf(target)
  const login = JSON.stringify({ email, password: PASSWORD })
  const { body } = await call({ target, headers }, 'POST', '/auth/login/password', login)
  const { authToken, sessionToken, mvUid } = body as Ids
  const session = {
    target,
    headers: {
      ...headers,
      Authorization: `Bearer ${authToken}`,
      'X-Parse-Session-Token': String(sessionToken),
    },
  }
  const { body: ehrs } = await call(session, 'GET', '/1/classes/Ehr')
  return { ...session, ids: { ...ids, email, ann: String(mvUid), ehr: ehrs.results[0].objectId } }
}

/** Stores the sample. @param only the steps to do; by default all. @returns the ids of what was stored, by name */
export async function storeSample(session: Session, only?: readonly string[]): Promise<Ids> {
  const stored: Ids = {}
  for (const { name, method = 'POST', path, body } of STEPS) {
    if (only && !only.includes(name)) continue
    const ids = { ...session.ids, ...stored }
    const answer = await call(session, method, fill(path, ids), fill(JSON.stringify(body), ids))
    if (answer.status >= 300) {
      if (only) throw new Error(`${name} was refused: ${JSON.stringify(answer.body)}`)
      continue
    }
    stored[name] = idIn(answer.body) ?? name
  }
  return stored
}

const idIn = (body: Json): string | undefined =>
  (body.objectId ?? body.id ?? ((body.results ?? body.items) as Json[] | undefined)?.[0]?.id) as
    | string
    | undefined

/** The response of each path, with names in place of this database's ids and times. */
export async function answersOf(session: Session): Promise<Record<string, unknown>> {
  const namesById = new Map(Object.entries(session.ids).map(([name, id]) => [id, `<${name}>`]))
  const answers: Record<string, unknown> = {}
  for (const door of DOORS) {
    const { status, body } = await call(session, 'GET', fill(door, session.ids))
    answers[door] = { status, body: sameForAll(comparable(body, namesById)) }
  }
  return answers
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** The sample's own times are before the middle of November 2026; all later ones tell when it was stored or read. */
const WHEN_STORED = /\b(2026-11-(1[5-9]|[23])|2026-12|20(2[7-9]|[3-9]))[-0-9T:.]*Z/g

type Line = { kind: string; data: Json }

/**
 * What the same data must give whoever stored them. An export has its lines in the order of ids, and accounts, sessions and
 * accesses beside the records. Versions before 21 November 2026 left no entry of a creation in the history.
 */
function sameForAll(body: unknown): unknown {
  if (Array.isArray(body))
    return (body as Line[])
      .filter(({ kind, data }) => data?.ehrId !== undefined && !['account', 'access'].includes(kind))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  const { items } = body as { items?: Json[] }
  return items ? { ...(body as Json), items: items.filter(({ action }) => action !== 'create') } : body
}

function comparable(value: unknown, namesById: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => comparable(one, namesById))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        comparable(name, namesById),
        comparable(member, namesById),
      ]),
    )
  if (typeof value !== 'string') return value
  let text = value.replaceAll(UUID, '<uuid>').replaceAll(WHEN_STORED, '<time>')
  for (const [id, name] of namesById) text = text.replaceAll(id, name)
  return text
}
