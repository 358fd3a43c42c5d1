import { type TObject, type TOptional, type TProperties, Type } from '@sinclair/typebox'
import { idField } from '../common.ts'
import { type ClassForms, createClassForms } from './class-form.ts'
import { fixedField, type MarkedField } from './fields.ts'
import { createPathForms, type PathForms } from './path-form.ts'

/** Parent of a record. `either`: the care plan if the record names one, otherwise the EHR. */
export type ParentType = 'EHR' | 'plan' | 'either' | 'goal' | 'none'

type IdSchema = ReturnType<typeof idField>

/** Ids of the parents, outermost first. */
type ParentIds<R extends ParentType> = R extends 'none'
  ? Record<never, never>
  : R extends 'EHR'
    ? { ehrId: IdSchema }
    : R extends 'plan'
      ? { ehrId: IdSchema; carePlanId: IdSchema }
      : R extends 'either'
        ? { ehrId: IdSchema; carePlanId: TOptional<IdSchema> & MarkedField<'fixed'> }
        : { ehrId: IdSchema; carePlanId: IdSchema; goalId: IdSchema }

const parentEhrIdField = idField('the EHR', 'e5RtGb81Xz')
const parentCarePlanIdField = idField('the care plan', 'p0LmNb72Qw')

const PARENT_IDS: { [R in ParentType]: ParentIds<R> } = {
  none: {},
  EHR: { ehrId: parentEhrIdField },
  plan: { ehrId: parentEhrIdField, carePlanId: parentCarePlanIdField },
  either: {
    ehrId: parentEhrIdField,
    carePlanId: fixedField(
      Type.Optional({
        ...parentCarePlanIdField,
        description: 'Id of the care plan; without one the record belongs to the EHR as a whole',
      }),
    ),
  },
  goal: {
    ehrId: parentEhrIdField,
    carePlanId: parentCarePlanIdField,
    goalId: idField('the goal of the task', 'g3HjKl56Ty'),
  },
}

/** Bodies of the path family name the care plan if the path does not. */
type BodyNamesPlan<R extends ParentType> = R extends 'either' ? true : boolean

/** Fields in bodies and replies of the path family besides the ids in the path. */
type OwnFields<R extends ParentType, N, P extends TProperties> = R extends 'either'
  ? Pick<ParentIds<'either'>, 'carePlanId'> & P
  : N extends true
    ? { carePlanId: IdSchema & MarkedField<'fixed'> } & P
    : P

export interface FormsOptions<R extends ParentType, N extends BodyNamesPlan<R>, P extends TProperties> {
  /** Name of the class and prefix of its schemas, in Pascal case. */
  name: string
  /** For sentences: `care plan`. */
  noun: string
  description: string
  parentType: R
  fields: P
  /** Example of an id. */
  example: string
  namesPlan?: N
  /** Whether clients of the class family may omit the EHR, which follows from the care plan. */
  ehrFollows?: boolean
  /**
   * Fields that bodies of the path family require, although older records and the class family may lack them.
   */
  requiredInPath?: readonly string[]
  /** Complete examples without the parent ids; needed if the examples of the fields do not fit together. */
  examples?: readonly object[]
}

/** The forms of any record. */
export interface AnyForms extends ClassForms {
  name: string
  noun: string
  example: string
  parentType: ParentType
  parentIds: TProperties
  fields: TProperties
  record: TObject
  resource: TObject
  body: TObject
  replacement: TObject
}

/** All forms of a record, generated from its fields. Storage, triggers, routes and documentation use them. */
export interface Forms<R extends ParentType, N, P extends TProperties>
  extends ClassForms,
    PathForms<Omit<ParentIds<R>, keyof OwnFields<R, N, P>>, OwnFields<R, N, P>> {
  name: string
  noun: string
  example: string
  parentType: R
  parentIds: ParentIds<R>
  fields: P
  /** Stored form. */
  record: TObject<ParentIds<R> & P>
}

/**
 *     const Task = defineForms({
 *       name: 'Task', noun: 'task', description: 'A task of a goal', parentType: 'goal', example: 't6YhNm34Rs',
 *       fields: { name: shortTextField('Name of the task'), dueDate: Type.Optional(dateField('Due date')), … },
 *     })
 */
export function defineForms<
  const R extends ParentType,
  P extends TProperties,
  const N extends BodyNamesPlan<R> = false & BodyNamesPlan<R>,
>(options: FormsOptions<R, N, P>): Forms<R, N, P> {
  const { parentType, fields, namesPlan = parentType === 'either', ehrFollows = false } = options
  const parentIds: TProperties = PARENT_IDS[parentType]
  const { carePlanId, ...pathParentIds } = parentIds
  const bodyParentIds: TProperties = carePlanId && namesPlan ? { carePlanId: fixedField(carePlanId) } : {}
  const follows = 'Id of the EHR; default: the EHR of the care plan'
  const classParentIds = ehrFollows
    ? { ...parentIds, ehrId: Type.Optional({ ...parentEhrIdField, description: follows }) }
    : parentIds
  return {
    name: options.name,
    noun: options.noun,
    example: options.example,
    parentType,
    parentIds,
    fields,
    record: Type.Object({ ...parentIds, ...fields }),
    ...createClassForms({ ...options, parentIds: classParentIds }),
    ...createPathForms({
      ...options,
      parentIds: namesPlan ? pathParentIds : parentIds,
      fields: { ...bodyParentIds, ...fields },
    }),
  } as unknown as Forms<R, N, P>
}
