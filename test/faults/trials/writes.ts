import { CLASS_NAMES, type ClassName, classKind, MEASUREMENTS } from '../../../records/kinds.ts'
import { namesOf } from '../../../schemas/forms/fields.ts'
import {
  addition,
  exampleBody,
  exampleChange,
  exampleObject,
  pathIn,
  pathOfOne,
  placeOf,
} from '../../harness/care/samples/examples.ts'
import { BLOOD_PRESSURE, pressuresOf } from '../../harness/openehr.ts'
import { isFullSize } from '../../harness/size.ts'
import type { Call } from '../victim/victim.ts'
import { type Part, type Place, TEMPLATE } from './clinic.ts'

/** Without those that others are registered in and that are closed: their writes stand below one by one. */
const OTHERS = CLASS_NAMES.filter(
  (name) =>
    !classKind(name).readOnly &&
    classKind(name).registeredIn !== 'none' &&
    namesOf(classKind(name).fields, 'status').length === 0,
)
const placeOfKind = (name: ClassName) => classKind(name).registeredIn

/** The kinds that are like any other. At the usual size the last one of each place that they can be registered in. */
const PLAIN = isFullSize
  ? OTHERS
  : OTHERS.filter((name, i) => !OTHERS.slice(i + 1).some((other) => placeOfKind(other) === placeOfKind(name)))

/** A clinical write of one of the families. */
export interface Write {
  name: string
  /** What there is before it. */
  given: Part[]
  ask(place: Place): Call
  /**
   * Its transaction is shared with other writes of this collection, so that one that is stopped in it stops those, too;
   * who does not say so is only tried in vain more often.
   */
  shares?: ClassName
  /** Asked by the EHR's subject: a user, who has not agreed to it. */
  bySubject?: true
  /** Parse gives the id: sent again, this makes another one. */
  makesAnother?: true
}

const post = (path: string, body: object = {}): Call => ({ method: 'POST', path, body })
const put = (path: string, body: object): Call => ({ method: 'PUT', path, body })
const remove = (path: string): Call => ({ method: 'DELETE', path })

const inEhr = ({ ehrId }: Place, path = '') => `/med/${ehrId}${path}`
const ofPlan = (place: Place, path = '') => inEhr(place, `/careplan/${place.carePlanId}${path}`)
const ofGoal = (place: Place, path = '') => ofPlan(place, `/goal/${place.goalId}${path}`)
const ofTask = (place: Place, path = '') => ofGoal(place, `/task/${place.taskId}${path}`)

const visit = { type: 'visit', title: 'A visit', start: '2026-03-01T08:30:00.000Z' }
const [one, other] = ['WRITE', 'READ'].map((access, i) => ({ guests }: Place) => ({
  mvUid: guests[i],
  access,
}))

/** What there can be in an EHR, made by the path family. */
const ehr: Part = { make: ({ name }) => post('/ehr', { subjectId: name }), id: 'ehrId' }
const plan: Part = { make: (at) => post(inEhr(at, '/careplan'), { name: 'A plan' }), id: 'carePlanId' }
const goal: Part = { make: (at) => post(ofPlan(at, '/goal'), { name: 'A goal' }), id: 'goalId' }
const task: Part = { make: (at) => post(ofGoal(at, '/task'), { name: 'A task' }), id: 'taskId' }
const secondGoal: Part = { make: (at) => post(ofPlan(at, '/goal'), { name: 'Another goal' }) }
const secondTask: Part = { make: (at) => post(ofGoal(at, '/task'), { name: 'Another task' }) }
const guest: Part = { make: (at) => post(ofPlan(at, '/participant'), one?.(at)), id: 'participationId' }
const fromTemplate: Part = {
  make: (at) => post(inEhr(at, '/careplan/template/asthma'), { participants: [one?.(at)] }),
  id: 'carePlanId',
}
const settings: Part = { make: (at) => post(ofPlan(at, '/settings'), { colour: 'blue' }) }
const event: Part = {
  make: (at) => post(inEhr(at, '/event'), { ...visit, carePlanId: at.carePlanId }),
  id: 'eventId',
}
const changedPlan: Part = { make: (at) => put(ofPlan(at), { name: 'A changed plan' }) }
const changedGoal: Part = { make: (at) => put(ofGoal(at), { name: 'A changed goal' }) }
const STATUS = {
  _type: 'EHR_STATUS',
  archetype_node_id: 'openEHR-EHR-EHR_STATUS.generic.v1',
  name: { value: 'EHR Status' },
  subject: {},
  is_queryable: true,
  is_modifiable: false,
}
const compositions = ({ ehrId }: Place, path = '') => `/med/ehr/${ehrId}/composition${path}`
const pressureOf = (systolic: number) => pressuresOf(TEMPLATE, BLOOD_PRESSURE, [[systolic]])
/** It holds a measurement that calls for an alert. */
const composition: Part = {
  make: (at) => post(`${compositions(at, '/json')}?carePlanId=${at.carePlanId}`, pressureOf(188)),
  id: 'compositionId',
}
const changedTask: Part = { make: (at) => put(ofTask(at), { name: 'A changed task' }) }
const removed: Part = { make: ({ ehrId }) => remove(`/med/ehr/${ehrId}`) }

const moment = (iso: string) => ({ __type: 'Date', iso })
const at = (className: string, id?: string) => `/1/classes/${className}${id === undefined ? '' : `/${id}`}`
const placed = ({ ehrId, carePlanId, goalId }: Place) => ({ ehrId, carePlanId, goalId })
const pressure: Part = {
  make: ({ carePlanId }) =>
    post(at('BloodPressure'), {
      ...{ carePlanId, timestamp: moment('2026-01-02T03:04:05.000Z') },
      ...{ systolic: 128, systolicUnit: 'mm[Hg]' },
    }),
  id: 'pressureId',
}

const planned = [ehr, plan]
const thresholds: Part = {
  make: (place) =>
    put(`/ehr/${place.ehrId}/careplan/${place.carePlanId}/thresholds`, { bloodpressure: 'esc2018' }),
}
/** A plan with thresholds, and blood pressures within and outside of them. */
const watched = [...planned, thresholds]
const [within, outside] = [118, 185].map((systolic) => ({ systolic, systolicUnit: 'mm[Hg]' }))
const measured = { diastolic: 76, diastolicUnit: 'mm[Hg]', timestamp: '2026-01-02T03:04:05.000Z' }
const steps = { dataType: 'steps', value: 1000, timestamp: measured.timestamp }
const pressures = ({ ehrId, recordId }: Place, id = false) =>
  `/ehr/${ehrId}/procedure/bloodpressure${id ? `/${recordId}` : ''}`
const alarming: Part = {
  make: (place) => post(pressures(place), { carePlanId: place.carePlanId, ...measured, ...outside }),
  id: 'recordId',
}
const alarmingInClass: Part = {
  make: ({ carePlanId }) =>
    post(at('BloodPressure'), { carePlanId, ...measured, timestamp: moment(measured.timestamp), ...outside }),
  id: 'recordId',
}
const chat = (place: Place, path = '') => `/chat/careplan/${place.carePlanId}${path}`
const ofTopic = (place: Place, path = '') => chat(place, `/${place.topicId}${path}`)
const topic: Part = { make: (at) => post(chat(at), { title: 'A topic', text: 'Hello' }), id: 'topicId' }
const message: Part = { make: (at) => post(ofTopic(at), { text: 'A message' }), id: 'messageId' }
const ofMessage = (place: Place) => ofTopic(place, `/message/${place.messageId}`)
const saidAbout = (about: 'goal' | 'task' | 'event'): Part => ({
  make: (at) => post(`/chat/${about}/${at[`${about}Id`]}`, { title: 'A topic', text: 'Hello' }),
})
const talked = [...planned, topic]
const filled = [ehr, plan, goal, task]
/** A plan with goals, tasks, a participant and whatever else is registered in one. */
const crowded = [ehr, fromTemplate, event, settings, pressure]

const write = (name: string, given: Part[], made: Part, shares?: Write['shares']): Write => ({
  ...{ name, given, ask: made.make },
  ...(shares && { shares }),
})

const pathFamily: Write[] = [
  write('create an EHR', [], ehr),
  { name: 'delete an EHR', given: crowded, ask: removed.make },
  {
    name: 'agree to an EHR',
    given: [ehr, plan, goal, task, event, settings],
    ask: ({ ehrId }) => post(`/ehr/${ehrId}/accept`),
    bySubject: true,
  },
  {
    name: 'restore an EHR',
    given: [...crowded, removed],
    ask: ({ ehrId }) => post(`/med/ehr/${ehrId}/restore`),
  },
  {
    name: 'restore a small EHR',
    given: [...planned, removed],
    ask: ({ ehrId }) => post(`/med/ehr/${ehrId}/restore`),
  },
  write('create a care plan', [ehr], plan, 'CarePlan'),
  {
    name: 'create a care plan from a template, with participants',
    given: [ehr],
    ask: (place) =>
      post(inEhr(place, '/careplan/template/asthma'), { participants: [one?.(place), other?.(place)] }),
  },
  write('replace a care plan', planned, changedPlan, 'CarePlan'),
  {
    name: 'close a care plan with all that is open in it',
    given: [...filled, secondTask, secondGoal],
    ask: (place) => post(ofPlan(place, '/close'), { closeOpen: true, outcome: 'Done' }),
  },
  {
    name: 'close a large care plan with all that is open in it',
    given: [ehr, fromTemplate],
    ask: (place) => post(ofPlan(place, '/close'), { closeOpen: true, outcome: 'Done' }),
  },
  {
    name: 'restore a version of a goal',
    given: [...planned, goal, changedGoal],
    ask: (place) => post(ofGoal(place, '/restore'), { version: 1 }),
    shares: 'Goal',
  },
  write('add a goal', planned, goal),
  {
    name: 'close a goal with all that is open in it',
    given: [...filled, secondTask],
    ask: (place) => post(ofGoal(place, '/close'), { closeOpen: true }),
  },
  write('replace a goal', [...planned, goal], changedGoal, 'Goal'),
  write('add a task', [ehr, plan, goal], task),
  write('replace a task', filled, changedTask, 'Task'),
  { name: 'close a task', given: filled, ask: (place) => post(ofTask(place, '/close')), shares: 'Task' },
  write('add a participant', planned, guest),
  {
    name: 'replace a participant',
    given: [...planned, guest],
    ask: (place) => put(ofPlan(place, `/participant/${place.participationId}`), { access: 'READ' }),
  },
  {
    name: 'archive a participant',
    given: [...planned, guest],
    ask: (place) => remove(ofPlan(place, `/participant/${place.participationId}`)),
  },
  write('save settings', planned, settings),
  {
    name: 'save settings again',
    given: [...planned, settings],
    ask: (place) => post(ofPlan(place, '/settings'), { colour: 'red' }),
  },
  write('save thresholds', planned, thresholds),
  write('store a composition', watched, composition),
  {
    name: 'replace a composition',
    given: [...watched, composition],
    ask: (place) => ({
      ...put(compositions(place, `/${place.compositionId}/json`), pressureOf(134)),
      headers: { 'if-match': '*' },
    }),
  },
  {
    name: 'replace the status of an EHR',
    given: [ehr],
    ask: ({ ehrId }) => ({ ...put(`/med/ehr/${ehrId}/status`, STATUS), headers: { 'if-match': '*' } }),
  },
  {
    name: 'delete a composition',
    given: [...watched, composition],
    ask: (place) => remove(compositions(place, `/${place.compositionId}`)),
  },
  ...PLAIN.flatMap(ofKind),
  write('start a topic', planned, topic),
  write('add a message', talked, message, 'ChatMessage'),
  {
    name: 'change a message',
    given: [...talked, message],
    ask: (place) => put(ofMessage(place), { text: 'Another' }),
    shares: 'ChatMessage',
  },
  {
    name: 'delete a message',
    given: [...talked, message],
    ask: (place) => remove(ofMessage(place)),
    shares: 'ChatMessage',
  },
  {
    name: 'delete an event that is talked about',
    given: [...planned, event, saidAbout('event')],
    ask: (place) => remove(inEhr(place, `/event/${place.eventId}`)),
  },
  { name: 'note what was read', given: talked, ask: (place) => post(ofTopic(place, '/read')) },
  {
    name: 'close a topic',
    given: talked,
    ask: (place) => post(ofTopic(place, '/close')),
    shares: 'ChatTopic',
  },
  {
    name: 'store measurements of a user',
    given: planned,
    ask: ({ name, carePlanId }) =>
      post(`/data/${name}/measurement`, [
        { ...steps, carePlanId },
        { ...steps, carePlanId, value: 2000 },
      ] as object),
  },
  {
    name: 'store an occurrence in the life of a user',
    given: planned,
    ask: ({ name, carePlanId }) =>
      post(`/data/${name}/event/fall`, { carePlanId, timestamp: measured.timestamp }),
  },
  {
    name: 'store a batch of measurements, one of which calls for an alert',
    given: watched,
    ask: ({ ehrId, carePlanId }) => {
      const items = MEASUREMENTS.slice(0, 2).flatMap(({ name, path }) => {
        const item = { ...exampleBody(name as ClassName), kind: path, carePlanId }
        return [item, { ...item, deviceId: 'another' }]
      })
      const alarm = { kind: 'bloodpressure', carePlanId, ...measured, ...outside }
      return post(`/ehr/${ehrId}/procedure/batch`, { items: [...items, alarm] })
    },
  },
  write('register what calls for an alert', watched, alarming, 'BloodPressure'),
  {
    name: 'correct what called for an alert',
    given: [...watched, alarming],
    ask: (place) => put(pressures(place, true), { ...measured, ...within }),
    shares: 'BloodPressure',
  },
  {
    name: 'delete what called for an alert',
    given: [...watched, alarming],
    ask: (place) => remove(pressures(place, true)),
    shares: 'BloodPressure',
  },
]

/** The plain operations of a kind. */
function ofKind(name: ClassName): Write[] {
  const operation = addition(name)
  if (!operation) return []
  const method = operation.method.toUpperCase() as Call['method']
  const named = 'carePlanId' in classKind(name).body.properties
  const body = ({ carePlanId }: Place) => ({ ...exampleBody(name), ...(named && { carePlanId }) })
  const path = (place: Place) => pathIn(operation.path, { ...body(place), ...place })
  const made: Part = {
    make: (place) => ({ method, path: path(place), body: body(place) }),
    id: 'recordId',
  }
  const one = (place: Place) => pathOfOne(name, path(place), String(place.recordId))
  return [
    { name: `add a ${name}`, given: planned, ask: made.make, shares: name },
    {
      name: `replace a ${name}`,
      given: [...planned, made],
      ask: (place) => put(one(place), { ...body(place), ...exampleChange(name) }),
      shares: name,
    },
    {
      name: `delete a ${name}`,
      given: [...planned, made],
      ask: (place) => remove(one(place)),
      shares: name,
    },
  ]
}

interface OfClass {
  name: string
  id: NonNullable<Part['id']>
  /** What there is before one is made. */
  given: Part[]
  made: Part
  change: object
  closes?: boolean
  /** What there is before one is deleted. */
  crowd?: Part[]
}

/** The writes of the class family on one class. */
function ofClass({
  name,
  id,
  given,
  made,
  change,
  closes = true,
  crowd = [...given, made],
}: OfClass): Write[] {
  const one = (place: Place) => at(name, place[id])
  const close: Write = {
    name: `close a ${name}`,
    given: [...given, made],
    ask: (place) => put(one(place), { status: 'COMPLETED', outcome: 'Done' }),
  }
  return [
    { name: `create a ${name}`, given, ask: made.make, makesAnother: true },
    { name: `update a ${name}`, given: [...given, made], ask: (place) => put(one(place), change) },
    ...(closes ? [close] : []),
    { name: `delete a ${name}`, given: crowd, ask: (place) => remove(one(place)) },
  ]
}

const inClass = (name: string, step: Part, fields: object): Part => ({
  ...step,
  make: (place) => post(at(name), { ...placed(place), ...fields }),
})
const planInClass = inClass('CarePlan', plan, { name: 'A plan' })
const goalInClass = inClass('Goal', goal, { name: 'A goal' })
const taskInClass = inClass('Task', task, { name: 'A task' })
const notes = { notes: 'Changed' }

const classFamily: Write[] = [
  {
    name: 'create an Ehr',
    given: [],
    ask: ({ name }) => post(at('Ehr'), { subjectId: name }),
    makesAnother: true,
  },
  { name: 'delete an Ehr', given: crowded, ask: ({ ehrId }) => remove(at('Ehr', ehrId)) },
  ...[
    { name: 'CarePlan', id: 'carePlanId', given: [ehr], made: planInClass, change: notes, crowd: crowded },
    {
      name: 'Goal',
      id: 'goalId',
      given: planned,
      made: goalInClass,
      change: notes,
      crowd: [...filled, secondTask, saidAbout('goal'), saidAbout('task')],
    },
    {
      ...{ name: 'Task', id: 'taskId', given: [...planned, goal], made: taskInClass, change: notes },
      crowd: [...filled, saidAbout('task')],
    },
    ...PLAIN.map((name) => ({
      name,
      id: 'recordId',
      given: planned,
      made: {
        make: (place: Place) => post(at(name), { ...exampleObject(name), ...placeOf(name, place) }),
        id: 'recordId',
      },
      change: exampleChange(name),
      closes: false,
    })),
  ].flatMap((one) => ofClass(one as OfClass)),
  {
    name: 'create what calls for an alert',
    given: watched,
    ask: alarmingInClass.make,
    makesAnother: true,
  },
  {
    name: 'update what called for an alert',
    given: [...watched, alarming],
    ask: ({ recordId }) => put(at('BloodPressure', recordId), { ...within }),
  },
  {
    name: 'delete what called for an alert',
    given: [...watched, alarming],
    ask: ({ recordId }) => remove(at('BloodPressure', recordId)),
  },
]

export const families = { 'path family': pathFamily, 'class family': classFamily }
