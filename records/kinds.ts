import { Custom as CustomForms } from '../schemas/custom.ts'
import { Ehr as EhrForms } from '../schemas/ehr.ts'
import { CarePlan, Goal, Task } from './care-plans/contents/plan-kinds.ts'
import { Participation } from './care-plans/participants/participants.ts'
import { PlanSettings } from './care-plans/settings.ts'
import { ChatMessage, ChatTopic } from './chat/chat-kinds.ts'
import { ehrLists } from './ehrs/ehrs.ts'
import { Event } from './events/event.ts'
import { PlanThresholds } from './measurements/alerts/plan-thresholds.ts'
import { Hads } from './measurements/kinds/anxiety-and-depression.ts'
import { Acq } from './measurements/kinds/asthma-control.ts'
import { BloodGlucose } from './measurements/kinds/blood-glucose.ts'
import { BloodPressure } from './measurements/kinds/blood-pressure.ts'
import { BodyMassIndex } from './measurements/kinds/body-mass-index.ts'
import { BodyTemperature } from './measurements/kinds/body-temperature.ts'
import { BodyWeight } from './measurements/kinds/body-weight.ts'
import { Dsmq } from './measurements/kinds/diabetes-self-management.ts'
import { HeartRate } from './measurements/kinds/heart-rate.ts'
import { OxygenSaturation } from './measurements/kinds/oxygen-saturation.ts'
import { isMeasurement } from './measurements/measurement.ts'
import { AdverseReaction } from './of-ehr/adverse-reaction.ts'
import { Device } from './of-ehr/device.ts'
import { Diagnosis } from './of-ehr/diagnosis.ts'
import { Composition } from './openehr/composition-record.ts'
import { EhrStatus } from './openehr/ehr-status-record.ts'
import { type ClassKind, type Kind, kind } from './registered/kind.ts'
import { payloadViolations } from './registered/refusals/payload.ts'
import { Occurrence } from './user-data/occurrence.ts'
import { Measurement } from './user-data/typed-measurement.ts'

const Ehr = kind(EhrForms, {
  words: { en: 'health record', nl: 'dossier' },
  lists: ehrLists,
})

const Custom = kind(CustomForms, {
  words: { en: 'other data', nl: 'overige gegevens' },
  rules: { together: [], violations: ({ payload }) => payloadViolations(payload) },
  lists: {},
  indexes: [
    { key: { ehrId: 1 }, name: 'by_ehrId' },
    { key: { carePlanId: 1 }, name: 'by_carePlanId' },
  ],
})

/** Every kind that is a class of the class family, too. */
export const classes = {
  Ehr,
  CarePlan,
  Goal,
  Task,
  ChatTopic,
  ChatMessage,
  Event,
  AdverseReaction,
  Device,
  Diagnosis,
  Custom,
  BloodPressure,
  BodyMassIndex,
  BodyTemperature,
  BodyWeight,
  HeartRate,
  OxygenSaturation,
  BloodGlucose,
  Acq,
  Hads,
  Dsmq,
  Occurrence,
  Measurement,
} satisfies Record<string, object>

export type ClassName = keyof typeof classes

export const CLASS_NAMES = Object.keys(classes) as ClassName[]

/** A class's kind, without the types of its own fields. */
export const classKind = (name: ClassName): ClassKind => classes[name] as unknown as ClassKind

export const isClassName = (name: unknown): name is ClassName =>
  typeof name === 'string' && Object.hasOwn(classes, name)

/** The kinds of measurements. */
export const MEASUREMENTS = CLASS_NAMES.map(classKind).filter(isMeasurement)

const ATTACHED: readonly string[] = [
  'Event',
  'Occurrence',
  'Measurement',
  ...MEASUREMENTS.map(({ name }) => name),
]

/** The collection of what a chat message may refer to; undefined for what it may not. */
export const attachedCollection = (type: string): string | undefined =>
  type === 'Composition' ? Composition.collection : ATTACHED.find((name) => name === type)

/**
 * THE table of kinds of records: from it follow classes, triggers, stores and indexes, what goes and comes back with an
 * EHR, the export, the audit's words, documentation and tests. A collection that holds data of an EHR and is not here
 * fails a test.
 */
export const kinds: readonly Kind[] = [
  ...CLASS_NAMES.map(classKind),
  ...([Participation, PlanSettings, PlanThresholds, Composition, EhrStatus] as unknown as Kind[]),
]

const within = (...places: Kind['registeredIn'][]): string[] =>
  kinds.filter(({ registeredIn }) => places.includes(registeredIn)).map(({ collection }) => collection)

const CHATS = [ChatTopic.collection, ChatMessage.collection]

/** The collections of what is registered in an EHR, a care plan or a goal, at any depth, and of what is said about it. */
export const contents = {
  Ehr: within('EHR', 'plan', 'either', 'goal'),
  CarePlan: within('plan', 'either', 'goal'),
  Goal: [...within('goal'), ...CHATS],
  Task: CHATS,
  Event: CHATS,
}
