import type { TObject } from '@sinclair/typebox'
import { BloodPressure, BloodPressureCreate, BloodPressureUpdate } from './blood-pressure.ts'
import { BodyMassIndex, BodyMassIndexCreate, BodyMassIndexUpdate } from './body-mass-index.ts'
import { BodyTemperature, BodyTemperatureCreate, BodyTemperatureUpdate } from './body-temperature.ts'
import { CarePlan, CarePlanCreate, CarePlanUpdate } from './care-plan.ts'
import { Custom, CustomCreate, CustomUpdate } from './custom.ts'
import { Ehr, EhrCreate, EhrUpdate } from './ehr.ts'
import { Event, EventCreate, EventUpdate } from './event.ts'
import { Goal, GoalCreate, GoalUpdate } from './goal.ts'
import { Task, TaskCreate, TaskUpdate } from './task.ts'

export interface ClassSchemas {
  /** What is kept: decides the Parse fields, and what an updated object must still fulfil. */
  stored: TObject
  /** What a client may send on creation. */
  create: TObject
  /** Which properties an update may change. */
  update: TObject
}

/** Every class of the class family that holds health data. */
export const classes = {
  Ehr: { stored: Ehr, create: EhrCreate, update: EhrUpdate },
  CarePlan: { stored: CarePlan, create: CarePlanCreate, update: CarePlanUpdate },
  Goal: { stored: Goal, create: GoalCreate, update: GoalUpdate },
  Task: { stored: Task, create: TaskCreate, update: TaskUpdate },
  Event: { stored: Event, create: EventCreate, update: EventUpdate },
  Custom: { stored: Custom, create: CustomCreate, update: CustomUpdate },
  BloodPressure: { stored: BloodPressure, create: BloodPressureCreate, update: BloodPressureUpdate },
  BodyMassIndex: { stored: BodyMassIndex, create: BodyMassIndexCreate, update: BodyMassIndexUpdate },
  BodyTemperature: { stored: BodyTemperature, create: BodyTemperatureCreate, update: BodyTemperatureUpdate },
} satisfies Record<string, ClassSchemas>

export type ClassName = keyof typeof classes

export const CLASS_NAMES = Object.keys(classes) as ClassName[]
