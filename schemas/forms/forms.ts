import { type TObject, type TOptional, type TProperties, Type } from '@sinclair/typebox'
import { id } from '../common.ts'
import { type ClassForms, classForms } from './class-form.ts'
import { fixed, type Marked } from './fields.ts'
import { type PathForms, pathForms } from './path-form.ts'

/** What a record is registered in; `either` is a care plan when it names one, else the EHR as a whole. */
export type RegisteredIn = 'EHR' | 'plan' | 'either' | 'goal' | 'none'

type Id = ReturnType<typeof id>

/** The ids of what a record is registered in, from the outside inwards. */
type PlaceIn<R extends RegisteredIn> = R extends 'none'
  ? Record<never, never>
  : R extends 'EHR'
    ? { ehrId: Id }
    : R extends 'plan'
      ? { ehrId: Id; carePlanId: Id }
      : R extends 'either'
        ? { ehrId: Id; carePlanId: TOptional<Id> & Marked<'fixed'> }
        : { ehrId: Id; carePlanId: Id; goalId: Id }

const ehrId = id('the EHR', 'e5RtGb81Xz')
const carePlanId = id('the care plan', 'p0LmNb72Qw')

const PLACES: { [R in RegisteredIn]: PlaceIn<R> } = {
  none: {},
  EHR: { ehrId },
  plan: { ehrId, carePlanId },
  either: {
    ehrId,
    carePlanId: fixed(
      Type.Optional({
        ...carePlanId,
        description: 'Id of the care plan; without one it belongs to the EHR as a whole',
      }),
    ),
  },
  goal: { ehrId, carePlanId, goalId: id('the goal that it serves', 'g3HjKl56Ty') },
}

/** Whether the path family's body names the care plan: it does when the paths do not. */
type NamesPlan<R extends RegisteredIn> = R extends 'either' ? true : boolean

/** The fields that the path family's body and reply have beside the ids in the path. */
type Own<R extends RegisteredIn, N, P extends TProperties> = R extends 'either'
  ? Pick<PlaceIn<'either'>, 'carePlanId'> & P
  : N extends true
    ? { carePlanId: Id & Marked<'fixed'> } & P
    : P

export interface About<R extends RegisteredIn, N extends NamesPlan<R>, P extends TProperties> {
  /** In Pascal case: the class, and the name of its schemas. */
  name: string
  /** In a sentence: `care plan`. */
  noun: string
  description: string
  registeredIn: R
  fields: P
  /** Of an id. */
  example: string
  namesPlan?: N
  /** Whether the class family's clients may leave out the EHR, since the care plan tells it. */
  ehrFollows?: boolean
  /** Fields that may be absent from older records and the class family, but not from the path family's body. */
  requiredInPath?: readonly string[]
  /** Whole examples without the place; needed when the examples of the fields do not fit together. */
  examples?: readonly object[]
}

/** The forms of some record. */
export interface AnyForms extends ClassForms {
  name: string
  noun: string
  example: string
  registeredIn: RegisteredIn
  place: TProperties
  fields: TProperties
  record: TObject
  resource: TObject
  body: TObject
  replacement: TObject
}

/** All forms of a record, made of its fields: written once, they serve storage, triggers, routes and documentation. */
export interface Forms<R extends RegisteredIn, N, P extends TProperties>
  extends ClassForms,
    PathForms<Omit<PlaceIn<R>, keyof Own<R, N, P>>, Own<R, N, P>> {
  name: string
  noun: string
  example: string
  registeredIn: R
  place: PlaceIn<R>
  fields: P
  /** As the records keep it. */
  record: TObject<PlaceIn<R> & P>
}

/**
 *     const task = forms({
 *       name: 'Task', noun: 'task', description: 'A task of a goal', registeredIn: 'goal', example: 't6YhNm34Rs',
 *       fields: { name: line('What is to be done'), dueDate: Type.Optional(date('When it should be done')), … },
 *     })
 */
export function forms<
  const R extends RegisteredIn,
  P extends TProperties,
  const N extends NamesPlan<R> = false & NamesPlan<R>,
>(about: About<R, N, P>): Forms<R, N, P> {
  const { registeredIn, fields, namesPlan = registeredIn === 'either', ehrFollows = false } = about
  const place: TProperties = PLACES[registeredIn]
  const { carePlanId, ...unnamed } = place
  const named: TProperties = carePlanId && namesPlan ? { carePlanId: fixed(carePlanId) } : {}
  const follows = 'Id of the EHR; the one of the care plan when absent'
  const classPlace = ehrFollows
    ? { ...place, ehrId: Type.Optional({ ...ehrId, description: follows }) }
    : place
  return {
    name: about.name,
    noun: about.noun,
    example: about.example,
    registeredIn,
    place,
    fields,
    record: Type.Object({ ...place, ...fields }),
    ...classForms({ ...about, place: classPlace }),
    ...pathForms({ ...about, place: namesPlan ? unnamed : place, fields: { ...named, ...fields } }),
  } as unknown as Forms<R, N, P>
}
