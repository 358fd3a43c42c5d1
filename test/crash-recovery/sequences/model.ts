import fc from 'fast-check'
import type { Document } from 'mongodb'
import type { ServiceCall } from '../service/crash-service.ts'

/** The records of a sequence: a few that all clients change. */
export type RecordName = 'plan' | 'goal 1' | 'goal 2' | 'pressure 1' | 'pressure 2' | 'event'

/** The classes of the records. */
export const CLASS_OF = {
  plan: 'CarePlan',
  'goal 1': 'Goal',
  'goal 2': 'Goal',
  'pressure 1': 'BloodPressure',
  'pressure 2': 'BloodPressure',
  event: 'Event',
} as const satisfies Record<RecordName, string>

type Action =
  | 'read'
  | 'set'
  | 'choose'
  | 'clear'
  | 'set part'
  | 'clear part'
  | 'increment'
  | 'replace'
  | 'remove'
  | 'restore'

/** An operation of a client. */
export interface Operation {
  action: Action
  family: 'class' | 'path'
  record: RecordName
  /** Sends the version that the client saw last. */
  conditional: boolean
}

/** An operation that creates goals in a plan that is closed meanwhile. */
export interface Creation {
  action: 'create'
  family: 'class' | 'path'
}

/** The fields that the operations change; the text names the operation that wrote it. */
export interface Fields {
  text: string
  more: string | undefined
  systolic: number | undefined
  /** An object whose parts change separately. */
  data: Record<string, unknown> | undefined
}

const NAMES: Record<string, [text: string, more: string]> = {
  CarePlan: ['name', 'notes'],
  Goal: ['name', 'notes'],
  // A measurement has a single text.
  BloodPressure: ['comment', 'comment'],
  Event: ['title', 'description'],
}

export const fieldsOf = (className: string, document: Document): Fields => {
  const [text = '', more = ''] = NAMES[className] ?? []
  return {
    text: String(document[text] ?? ''),
    more: more === text ? undefined : (document[more] ?? undefined),
    systolic: document.systolic ?? undefined,
    data: className === 'Event' ? (document.data ?? undefined) : undefined,
  }
}

const ofGoals = ['read', 'set', 'choose', 'clear', 'replace', 'remove', 'restore', 'restore'] as const
const ofPressures = [
  'read',
  'set',
  'increment',
  'increment',
  'replace',
  'remove',
  'restore',
  'restore',
] as const
const ofPlans = ['read', 'set', 'choose', 'clear', 'replace', 'restore'] as const
const ofEvents = [...ofGoals, 'set part', 'set part', 'set part', 'clear part'] as const

const operationsOf = (records: readonly RecordName[], actions: readonly Action[]): fc.Arbitrary<Operation> =>
  fc.record({
    action: fc.constantFrom(...actions),
    family: fc.constantFrom('class', 'path'),
    record: fc.constantFrom(...records),
    conditional: fc.boolean(),
  })

export const anyOperation: fc.Arbitrary<Operation | Creation> = fc.oneof(
  { arbitrary: operationsOf(['plan'], ofPlans), weight: 3 },
  { arbitrary: operationsOf(['goal 1', 'goal 2'], ofGoals), weight: 5 },
  { arbitrary: operationsOf(['pressure 1', 'pressure 2'], ofPressures), weight: 6 },
  { arbitrary: operationsOf(['event'], ofEvents), weight: 4 },
  {
    arbitrary: fc.record({ action: fc.constant('create'), family: fc.constantFrom('class', 'path') }),
    weight: 1,
  },
)

/** The paths of a record in both families. */
export interface RecordPaths {
  class: string
  path: string
}

/** The properties of a pressure that no operation changes. */
export const PRESSURE = {
  timestamp: '2026-01-02T03:04:05.000Z',
  systolicUnit: 'mm[Hg]',
  diastolic: 76,
  diastolicUnit: 'mm[Hg]',
}
const systolicOf = (number: number): number => 110 + (number % 80)

/** The properties of an event that no operation changes. */
export const EVENT = { type: 'appointment', start: '2026-03-01T08:30:00.000Z' }

/** One of few values, so that an operation often sets what is there already. */
const choiceOf = (number: number): string => (number % 2 ? 'odd' : 'even')
const partOf = (number: number): string => (number % 2 ? 'a' : 'b')

/** The request of an operation; the class family alone has those that change single fields. */
export function requestOf(
  { action, family, record }: Operation,
  paths: RecordPaths,
  number: number,
  text: string,
): ServiceCall {
  const className = CLASS_OF[record]
  const [name = '', more = ''] = NAMES[className] ?? []
  const inClass = { path: paths.class }
  // The path family shows and deletes goals with their plan.
  const single = { path: className === 'Goal' ? paths.class : paths[family] }
  const requests: Record<Action, () => ServiceCall> = {
    read: () => ({ method: 'GET', ...single }),
    set: () => ({ method: 'PUT', ...inClass, body: { [number % 2 ? name : more]: text, [name]: text } }),
    choose: () => ({ method: 'PUT', ...inClass, body: { [name]: text, [more]: choiceOf(number) } }),
    'set part': () => ({
      method: 'PUT',
      ...inClass,
      body: { [name]: text, [`data.${partOf(number)}`]: text },
    }),
    'clear part': () => ({ method: 'PUT', ...inClass, body: { [name]: text, 'data.a': { __op: 'Delete' } } }),
    clear: () => ({ method: 'PUT', ...inClass, body: { [name]: text, [more]: { __op: 'Delete' } } }),
    increment: () => ({
      method: 'PUT',
      ...inClass,
      body: { systolic: { __op: 'Increment', amount: 1 }, [name]: text },
    }),
    replace: () => ({
      method: 'PUT',
      path: paths.path,
      body: {
        [name]: text,
        ...(className === 'BloodPressure' && { ...PRESSURE, systolic: systolicOf(number) }),
        ...(className === 'Event' && EVENT),
      },
    }),
    remove: () => ({ method: 'DELETE', ...single }),
    restore: () => ({ method: 'POST', path: `${paths.path}/restore`, body: { version: 1 } }),
  }
  return requests[action]()
}

/** The plain sequential model: the fields after an operation. @param firstFields the fields of version 1 */
export function nextFields(
  { action, record }: Operation,
  now: Fields,
  firstFields: Fields,
  number: number,
  text: string,
): Fields {
  const isPressure = CLASS_OF[record] === 'BloodPressure'
  if (action === 'restore') return firstFields
  if (action === 'increment') return { ...now, text, systolic: (now.systolic ?? 0) + 1 }
  if (action === 'replace')
    return {
      text,
      more: undefined,
      data: undefined,
      systolic: isPressure ? systolicOf(number) : now.systolic,
    }
  if (action === 'choose') return { ...now, text, more: choiceOf(number) }
  if (action === 'set part') return { ...now, text, data: { ...now.data, [partOf(number)]: text } }
  if (action === 'clear part') {
    const { a: _, ...data } = now.data ?? {}
    return { ...now, text, data: now.data && data }
  }
  if (action === 'clear') return { ...now, text, more: undefined }
  return { ...now, text, more: isPressure || number % 2 ? now.more : text }
}
