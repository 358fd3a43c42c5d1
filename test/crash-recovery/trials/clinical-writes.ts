import { statusIdOf } from '../../../records/compositions/ehr-status-record.ts'
import { CLASS_NAMES, type ClassName, classKindOf, MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import { markedFieldNames } from '../../../schemas/forms/fields.ts'
import { contributionOf, folder, versionOf } from '../../conformance/openehr-rest/fixture.ts'
import {
  createExampleChange,
  exampleBody,
  exampleObject,
  fillPath,
  findAddOperation,
  parentIdsOf,
  recordPathOf,
} from '../../harness/care/samples/examples.ts'
import { BLOOD_PRESSURE, createPressuresComposition } from '../../harness/openehr-samples.ts'
import { isFullSize } from '../../harness/test-size.ts'
import type { ServiceCall } from '../service/crash-service.ts'
import { type EhrPart, TEMPLATE, type TrialEhr } from './clinic.ts'

/** Excludes kinds that are parents or can be closed: their writes are listed one by one below. */
const PLAIN_KINDS = CLASS_NAMES.filter(
  (name) =>
    !classKindOf(name).readOnly &&
    classKindOf(name).parentType !== 'none' &&
    markedFieldNames(classKindOf(name).fields, 'status').length === 0,
)
const placeOfKind = (name: ClassName) => classKindOf(name).parentType

/** The ordinary kinds. At the usual size only the last one of each parent. */
const SAMPLED_PLAIN_KINDS = isFullSize
  ? PLAIN_KINDS
  : PLAIN_KINDS.filter(
      (name, i) => !PLAIN_KINDS.slice(i + 1).some((other) => placeOfKind(other) === placeOfKind(name)),
    )

/** A clinical write of one of the families. */
export interface ClinicalWrite {
  name: string
  /** The records that exist before it. */
  given: EhrPart[]
  ask(place: TrialEhr): ServiceCall
  /**
   * Its transaction includes other writes to this collection, so a write stopped in it stops those, too.
   * Without this hint the trials only need more attempts.
   */
  shares?: ClassName
  /** Sent by the EHR's subject: a user, who has not agreed to it. */
  bySubject?: true
  /** A retry creates another object, whose id Parse chooses, or conflicts with the first one. */
  makesAnother?: true
}

const createPost = (path: string, body: object = {}): ServiceCall => ({ method: 'POST', path, body })
const createPut = (path: string, body: object): ServiceCall => ({ method: 'PUT', path, body })
const createDelete = (path: string): ServiceCall => ({ method: 'DELETE', path })

const ehrPath = ({ ehrId }: TrialEhr, path = '') => `/med/${ehrId}${path}`
const planPath = (place: TrialEhr, path = '') => ehrPath(place, `/careplan/${place.carePlanId}${path}`)
const goalPath = (place: TrialEhr, path = '') => planPath(place, `/goal/${place.goalId}${path}`)
const taskPath = (place: TrialEhr, path = '') => goalPath(place, `/task/${place.taskId}${path}`)

const visit = { type: 'visit', title: 'A visit', start: '2026-03-01T08:30:00.000Z' }
const [one, other] = ['WRITE', 'READ'].map((access, i) => ({ guests }: TrialEhr) => ({
  mvUid: guests[i],
  access,
}))

/** The records that an EHR can contain, created with the path family. */
const ehr: EhrPart = { make: ({ name }) => createPost('/ehr', { subjectId: name }), id: 'ehrId' }
const plan: EhrPart = {
  make: (at) => createPost(ehrPath(at, '/careplan'), { name: 'A plan' }),
  id: 'carePlanId',
}
const goal: EhrPart = { make: (at) => createPost(planPath(at, '/goal'), { name: 'A goal' }), id: 'goalId' }
const task: EhrPart = { make: (at) => createPost(goalPath(at, '/task'), { name: 'A task' }), id: 'taskId' }
const secondGoal: EhrPart = { make: (at) => createPost(planPath(at, '/goal'), { name: 'Another goal' }) }
const secondTask: EhrPart = { make: (at) => createPost(goalPath(at, '/task'), { name: 'Another task' }) }
const guest: EhrPart = {
  make: (at) => createPost(planPath(at, '/participant'), one?.(at)),
  id: 'participationId',
}
const fromTemplate: EhrPart = {
  make: (at) => createPost(ehrPath(at, '/careplan/template/asthma'), { participants: [one?.(at)] }),
  id: 'carePlanId',
}
const settings: EhrPart = { make: (at) => createPost(planPath(at, '/settings'), { colour: 'blue' }) }
const event: EhrPart = {
  make: (at) => createPost(ehrPath(at, '/event'), { ...visit, carePlanId: at.carePlanId }),
  id: 'eventId',
}
const changedPlan: EhrPart = { make: (at) => createPut(planPath(at), { name: 'A changed plan' }) }
const changedGoal: EhrPart = { make: (at) => createPut(goalPath(at), { name: 'A changed goal' }) }
const STATUS = {
  _type: 'EHR_STATUS',
  archetype_node_id: 'openEHR-EHR-EHR_STATUS.generic.v1',
  name: { value: 'EHR Status' },
  subject: {},
  is_queryable: true,
  is_modifiable: false,
}
const compositions = ({ ehrId }: TrialEhr, path = '') => `/med/ehr/${ehrId}/composition${path}`
const pressureOf = (systolic: number) => createPressuresComposition(TEMPLATE, BLOOD_PRESSURE, [[systolic]])
/** It contains a measurement that raises an alert. */
const composition: EhrPart = {
  make: (at) => createPost(`${compositions(at, '/json')}?carePlanId=${at.carePlanId}`, pressureOf(188)),
  id: 'compositionId',
}
/** Ids of openEHR's API follow from the name of the place. */
const uuidOf = ({ name }: TrialEhr) =>
  Buffer.from(name)
    .toString('hex')
    .padEnd(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
const restPath = ({ ehrId }: TrialEhr, path = '') => `/openehr/v1/ehr/${ehrId}${path}`
const ofVersion = (id: string, version = 1) => ({ 'if-match': `"${id}::hrs.local::${version}"` })
const statusAbout = ({ name }: TrialEhr) => ({
  ...STATUS,
  subject: {
    external_ref: {
      id: { _type: 'GENERIC_ID', value: name, scheme: 'x' },
      namespace: 'hrs.local',
      type: 'PERSON',
    },
  },
})
const folderOf = (place: TrialEhr, name: string) => ({
  ...folder(name),
  uid: { _type: 'HIER_OBJECT_ID', value: uuidOf(place) },
})
const directory: EhrPart = { make: (at) => createPost(restPath(at, '/directory'), folderOf(at, 'root')) }
const changedTask: EhrPart = { make: (at) => createPut(taskPath(at), { name: 'A changed task' }) }
const deletedEhr: EhrPart = { make: ({ ehrId }) => createDelete(`/med/ehr/${ehrId}`) }

const parseDate = (iso: string) => ({ __type: 'Date', iso })
const classPath = (className: string, id?: string) =>
  `/1/classes/${className}${id === undefined ? '' : `/${id}`}`
const registrationIdsOf = ({ ehrId, carePlanId, goalId }: TrialEhr) => ({ ehrId, carePlanId, goalId })
const pressure: EhrPart = {
  make: ({ carePlanId }) =>
    createPost(classPath('BloodPressure'), {
      carePlanId,
      timestamp: parseDate('2026-01-02T03:04:05.000Z'),
      systolic: 128,
      systolicUnit: 'mm[Hg]',
    }),
  id: 'pressureId',
}

const planned = [ehr, plan]
export const withGoal: readonly EhrPart[] = [ehr, plan, goal]
const thresholds: EhrPart = {
  make: (place) =>
    createPut(`/ehr/${place.ehrId}/careplan/${place.carePlanId}/thresholds`, { bloodpressure: 'esc2018' }),
}
const alertRules: EhrPart = {
  make: (place) =>
    createPut(`/ehr/${place.ehrId}/careplan/${place.carePlanId}/alert-rules`, {
      expected: [{ kind: 'bmi', from: '2026-03-01', everyDays: 7, by: '20:00' }],
    }),
}
/** A plan with thresholds, and blood pressures within and beyond them. */
const watched = [...planned, thresholds]
const [within, outside] = [118, 185].map((systolic) => ({ systolic, systolicUnit: 'mm[Hg]' }))
const measured = { diastolic: 76, diastolicUnit: 'mm[Hg]', timestamp: '2026-01-02T03:04:05.000Z' }
const steps = { dataType: 'steps', value: 1000, timestamp: measured.timestamp }
const pressurePath = ({ ehrId, recordId }: TrialEhr, id = false) =>
  `/ehr/${ehrId}/procedure/bloodpressure${id ? `/${recordId}` : ''}`
const alarming: EhrPart = {
  make: (place) => createPost(pressurePath(place), { carePlanId: place.carePlanId, ...measured, ...outside }),
  id: 'recordId',
}
const alarmingInClass: EhrPart = {
  make: ({ carePlanId }) =>
    createPost(classPath('BloodPressure'), {
      carePlanId,
      ...measured,
      timestamp: parseDate(measured.timestamp),
      ...outside,
    }),
  id: 'recordId',
}
const chatPath = (place: TrialEhr, path = '') => `/chat/careplan/${place.carePlanId}${path}`
const topicPath = (place: TrialEhr, path = '') => chatPath(place, `/${place.topicId}${path}`)
const topic: EhrPart = {
  make: (at) => createPost(chatPath(at), { title: 'A topic', text: 'Hello' }),
  id: 'topicId',
}
const message: EhrPart = { make: (at) => createPost(topicPath(at), { text: 'A message' }), id: 'messageId' }
const messagePath = (place: TrialEhr) => topicPath(place, `/message/${place.messageId}`)
const topicAbout = (about: 'goal' | 'task' | 'event'): EhrPart => ({
  make: (at) => createPost(`/chat/${about}/${at[`${about}Id`]}`, { title: 'A topic', text: 'Hello' }),
})
const talked = [...planned, topic]
const filled = [ehr, plan, goal, task]
/** A plan with goals, tasks, a participant and other records. */
const crowded = [ehr, fromTemplate, event, settings, pressure]

const createWrite = (
  name: string,
  given: EhrPart[],
  part: EhrPart,
  shares?: ClinicalWrite['shares'],
): ClinicalWrite => ({
  name,
  given,
  ask: part.make,
  ...(shares && { shares }),
})

const pathFamily: ClinicalWrite[] = [
  createWrite('create an EHR', [], ehr),
  { name: 'delete an EHR', given: crowded, ask: deletedEhr.make },
  {
    name: 'agree to an EHR',
    given: [ehr, plan, goal, task, event, settings],
    ask: ({ ehrId }) => createPost(`/ehr/${ehrId}/accept`),
    bySubject: true,
  },
  {
    name: 'restore an EHR',
    given: [...crowded, deletedEhr],
    ask: ({ ehrId }) => createPost(`/med/ehr/${ehrId}/restore`),
  },
  {
    name: 'restore a small EHR',
    given: [...planned, deletedEhr],
    ask: ({ ehrId }) => createPost(`/med/ehr/${ehrId}/restore`),
  },
  createWrite('create a care plan', [ehr], plan, 'CarePlan'),
  {
    name: 'create a care plan from a template, with participants',
    given: [ehr],
    ask: (place) =>
      createPost(ehrPath(place, '/careplan/template/asthma'), {
        participants: [one?.(place), other?.(place)],
      }),
  },
  {
    name: 'add the goals and tasks of a template to a care plan',
    given: planned,
    ask: ({ ehrId, carePlanId }) => createPost(`/ehr/${ehrId}/careplan/${carePlanId}/template/asthma`, {}),
  },
  createWrite('replace a care plan', planned, changedPlan, 'CarePlan'),
  {
    name: 'close a care plan with its open goals and tasks',
    given: [...filled, secondTask, secondGoal],
    ask: (place) => createPost(planPath(place, '/close'), { closeOpen: true, outcome: 'Done' }),
  },
  {
    name: 'close a large care plan with its open goals and tasks',
    given: [ehr, fromTemplate],
    ask: (place) => createPost(planPath(place, '/close'), { closeOpen: true, outcome: 'Done' }),
  },
  {
    name: 'delete a care plan',
    given: [...filled, secondTask],
    ask: (place) => createDelete(planPath(place, '')),
  },
  {
    name: 'restore a version of a goal',
    given: [...planned, goal, changedGoal],
    ask: (place) => createPost(goalPath(place, '/restore'), { version: 1 }),
    shares: 'Goal',
  },
  createWrite('add a goal', planned, goal),
  {
    name: 'close a goal with its open tasks',
    given: [...filled, secondTask],
    ask: (place) => createPost(goalPath(place, '/close'), { closeOpen: true }),
  },
  createWrite('replace a goal', [...planned, goal], changedGoal, 'Goal'),
  createWrite('add a task', [ehr, plan, goal], task),
  createWrite('replace a task', filled, changedTask, 'Task'),
  {
    name: 'close a task',
    given: filled,
    ask: (place) => createPost(taskPath(place, '/close')),
    shares: 'Task',
  },
  createWrite('add a participant', planned, guest),
  {
    name: 'replace a participant',
    given: [...planned, guest],
    ask: (place) => createPut(planPath(place, `/participant/${place.participationId}`), { access: 'READ' }),
  },
  {
    name: 'archive a participant',
    given: [...planned, guest],
    ask: (place) => createDelete(planPath(place, `/participant/${place.participationId}`)),
  },
  createWrite('save settings', planned, settings),
  {
    name: 'save settings again',
    given: [...planned, settings],
    ask: (place) => createPost(planPath(place, '/settings'), { colour: 'red' }),
  },
  createWrite('save thresholds', planned, thresholds),
  createWrite('save alert rules', [...watched, alarming], alertRules),
  {
    name: 'take an alert',
    given: [...watched, alarming],
    ask: ({ ehrId, recordId }) => createPost(`/ehr/${ehrId}/alert/${recordId}/handle`, { action: 'TAKE' }),
    shares: 'Event',
  },
  createWrite('store a composition', watched, composition),
  {
    name: 'replace a composition',
    given: [...watched, composition],
    ask: (place) => ({
      ...createPut(compositions(place, `/${place.compositionId}/json`), pressureOf(134)),
      headers: { 'if-match': '"1"' },
    }),
  },
  {
    name: 'replace the status of an EHR',
    given: [ehr],
    ask: ({ ehrId }) => ({
      ...createPut(`/med/ehr/${ehrId}/status`, STATUS),
      headers: { 'if-match': '"1"' },
    }),
  },
  {
    name: 'delete a composition',
    given: [...watched, composition],
    ask: (place) => createDelete(compositions(place, `/${place.compositionId}`)),
  },
  ...openEhrWrites(),
  ...SAMPLED_PLAIN_KINDS.flatMap(createKindWrites),
  createWrite('start a topic', planned, topic),
  createWrite('add a message', talked, message, 'ChatMessage'),
  {
    name: 'change a message',
    given: [...talked, message],
    ask: (place) => createPut(messagePath(place), { text: 'Another' }),
    shares: 'ChatMessage',
  },
  {
    name: 'delete a message',
    given: [...talked, message],
    ask: (place) => createDelete(messagePath(place)),
    shares: 'ChatMessage',
  },
  {
    name: 'delete an event with a chat topic',
    given: [...planned, event, topicAbout('event')],
    ask: (place) => createDelete(ehrPath(place, `/event/${place.eventId}`)),
  },
  { name: 'mark messages as read', given: talked, ask: (place) => createPost(topicPath(place, '/read')) },
  {
    name: 'close a topic',
    given: talked,
    ask: (place) => createPost(topicPath(place, '/close')),
    shares: 'ChatTopic',
  },
  {
    name: 'store measurements of a user',
    given: planned,
    ask: ({ name, carePlanId }) =>
      createPost(`/data/${name}/measurement`, [
        { ...steps, carePlanId },
        { ...steps, carePlanId, value: 2000 },
      ] as object),
  },
  {
    name: 'store an occurrence in the life of a user',
    given: planned,
    ask: ({ name, carePlanId }) =>
      createPost(`/data/${name}/event/fall`, { carePlanId, timestamp: measured.timestamp }),
  },
  {
    name: 'store a batch of measurements, one of which raises an alert',
    given: watched,
    ask: ({ ehrId, carePlanId }) => {
      const items = MEASUREMENT_KINDS.slice(0, 2).flatMap(({ name, path }) => {
        const item = { ...exampleBody(name as ClassName), kind: path, carePlanId }
        return [item, { ...item, deviceId: 'another' }]
      })
      const alarm = { kind: 'bloodpressure', carePlanId, ...measured, ...outside }
      return createPost(`/ehr/${ehrId}/procedure/batch`, { items: [...items, alarm] })
    },
  },
  createWrite('register what calls for an alert', watched, alarming, 'BloodPressure'),
  {
    name: 'correct a measurement with an alert',
    given: [...watched, alarming],
    ask: (place) => createPut(pressurePath(place, true), { ...measured, ...within }),
    shares: 'BloodPressure',
  },
  {
    name: 'delete a measurement with an alert',
    given: [...watched, alarming],
    ask: (place) => createDelete(pressurePath(place, true)),
    shares: 'BloodPressure',
  },
]

/** The writes of the openEHR REST API. */
function openEhrWrites(): ClinicalWrite[] {
  const versionIdOf = (at: TrialEhr) => `${at.compositionId}::hrs.local::1`
  return [
    {
      name: 'create the only EHR about a subject',
      given: [],
      ask: (at) => createPost('/openehr/v1/ehr', statusAbout(at)),
    },
    {
      name: 'create an EHR with an id',
      given: [],
      ask: (at) => createPut(`/openehr/v1/ehr/${uuidOf(at)}`, statusAbout(at)),
      makesAnother: true,
    },
    {
      name: 'replace the status of an EHR by its uid',
      given: [ehr],
      ask: (at) => ({
        ...createPut(restPath(at, '/ehr_status'), STATUS),
        headers: ofVersion(statusIdOf(String(at.ehrId))),
      }),
    },
    {
      name: 'store a composition in no care plan',
      given: [ehr],
      ask: (at) => createPost(restPath(at, '/composition'), pressureOf(188)),
    },
    {
      name: 'replace a composition by its uid, with details of the commit',
      given: [...watched, composition],
      ask: (at) => ({
        ...createPut(restPath(at, `/composition/${at.compositionId}`), pressureOf(134)),
        headers: {
          ...ofVersion(String(at.compositionId)),
          'openehr-audit-details': 'description.value="A correction"',
        },
      }),
    },
    {
      name: 'delete a composition by its uid',
      given: [...watched, composition],
      ask: (at) => createDelete(restPath(at, `/composition/${versionIdOf(at)}`)),
    },
    {
      name: 'commit versions of a composition, the status and a directory at once',
      given: [...watched, composition],
      ask: (at) =>
        createPost(
          restPath(at, '/contribution'),
          contributionOf(
            versionOf(pressureOf(134), { preceding: versionIdOf(at) }),
            versionOf(pressureOf(188)),
            versionOf(STATUS, { preceding: `${statusIdOf(String(at.ehrId))}::hrs.local::1` }),
            versionOf(folderOf(at, 'root')),
          ),
        ),
    },
    createWrite('create a directory', [ehr], directory),
    {
      name: 'replace a directory',
      given: [ehr, directory],
      ask: (at) => ({
        ...createPut(restPath(at, '/directory'), folderOf(at, 'changed')),
        headers: ofVersion(uuidOf(at)),
      }),
    },
    {
      name: 'delete a directory',
      given: [ehr, directory],
      ask: (at) => ({ ...createDelete(restPath(at, '/directory')), headers: ofVersion(uuidOf(at)) }),
    },
  ]
}

/** The plain operations of a kind. */
function createKindWrites(name: ClassName): ClinicalWrite[] {
  const operation = findAddOperation(name)
  if (!operation) return []
  const method = operation.method.toUpperCase() as ServiceCall['method']
  const hasCarePlanId = 'carePlanId' in classKindOf(name).body.properties
  const body = ({ carePlanId }: TrialEhr) => ({ ...exampleBody(name), ...(hasCarePlanId && { carePlanId }) })
  const path = (place: TrialEhr) => fillPath(operation.path, { ...body(place), ...place })
  const part: EhrPart = {
    make: (place) => ({ method, path: path(place), body: body(place) }),
    id: 'recordId',
  }
  const one = (place: TrialEhr) => recordPathOf(name, path(place), String(place.recordId))
  return [
    { name: `add a ${name}`, given: planned, ask: part.make, shares: name },
    {
      name: `replace a ${name}`,
      given: [...planned, part],
      ask: (place) => createPut(one(place), { ...body(place), ...createExampleChange(name) }),
      shares: name,
    },
    {
      name: `delete a ${name}`,
      given: [...planned, part],
      ask: (place) => createDelete(one(place)),
      shares: name,
    },
  ]
}

interface ClassWriteOptions {
  name: string
  id: NonNullable<EhrPart['id']>
  /** The records that exist before a creation. */
  given: EhrPart[]
  made: EhrPart
  change: object
  closes?: boolean
  /** The records that exist before a deletion. */
  crowd?: EhrPart[]
}

/** The writes of the class family to one class. */
function createClassWrites({
  name,
  id,
  given,
  made,
  change,
  closes = true,
  crowd = [...given, made],
}: ClassWriteOptions): ClinicalWrite[] {
  const one = (place: TrialEhr) => classPath(name, place[id])
  const close: ClinicalWrite = {
    name: `close a ${name}`,
    given: [...given, made],
    ask: (place) => createPut(one(place), { status: 'COMPLETED', outcome: 'Done' }),
  }
  return [
    { name: `create a ${name}`, given, ask: made.make, makesAnother: true },
    { name: `update a ${name}`, given: [...given, made], ask: (place) => createPut(one(place), change) },
    ...(closes ? [close] : []),
    { name: `delete a ${name}`, given: crowd, ask: (place) => createDelete(one(place)) },
  ]
}

const createInClass = (name: string, step: EhrPart, fields: object): EhrPart => ({
  ...step,
  make: (place) => createPost(classPath(name), { ...registrationIdsOf(place), ...fields }),
})
const planInClass = createInClass('CarePlan', plan, { name: 'A plan' })
const goalInClass = createInClass('Goal', goal, { name: 'A goal' })
const taskInClass = createInClass('Task', task, { name: 'A task' })
const notes = { notes: 'Changed' }

const classFamily: ClinicalWrite[] = [
  {
    name: 'create an Ehr',
    given: [],
    ask: ({ name }) => createPost(classPath('Ehr'), { subjectId: name }),
    makesAnother: true,
  },
  { name: 'delete an Ehr', given: crowded, ask: ({ ehrId }) => createDelete(classPath('Ehr', ehrId)) },
  ...[
    { name: 'CarePlan', id: 'carePlanId', given: [ehr], made: planInClass, change: notes, crowd: crowded },
    {
      name: 'Goal',
      id: 'goalId',
      given: planned,
      made: goalInClass,
      change: notes,
      crowd: [...filled, secondTask, topicAbout('goal'), topicAbout('task')],
    },
    {
      name: 'Task',
      id: 'taskId',
      given: [...planned, goal],
      made: taskInClass,
      change: notes,
      crowd: [...filled, topicAbout('task')],
    },
    ...SAMPLED_PLAIN_KINDS.map((name) => ({
      name,
      id: 'recordId',
      given: planned,
      made: {
        make: (place: TrialEhr) =>
          createPost(classPath(name), { ...exampleObject(name), ...parentIdsOf(name, place) }),
        id: 'recordId',
      },
      change: createExampleChange(name),
      closes: false,
    })),
  ].flatMap((one) => createClassWrites(one as ClassWriteOptions)),
  {
    name: 'create a measurement that raises an alert',
    given: watched,
    ask: alarmingInClass.make,
    makesAnother: true,
  },
  {
    name: 'update a measurement with an alert',
    given: [...watched, alarming],
    ask: ({ recordId }) => createPut(classPath('BloodPressure', recordId), { ...within }),
  },
  {
    name: 'delete a measurement with an alert',
    given: [...watched, alarming],
    ask: ({ recordId }) => createDelete(classPath('BloodPressure', recordId)),
  },
]

export const WRITES_BY_FAMILY = { 'path family': pathFamily, 'class family': classFamily }
