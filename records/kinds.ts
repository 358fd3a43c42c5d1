import { EhrForms } from '../schemas/ehrs/ehr.ts'
import { CustomForms } from '../schemas/user-data/custom.ts'
import { CarePlan, Goal, Task } from './care-plans/contents/plan-kinds.ts'
import { Participation } from './care-plans/participants/participants.ts'
import { PlanSettings } from './care-plans/plan-settings.ts'
import { ChatMessage, ChatTopic } from './chat/chat-kinds.ts'
import { Composition } from './compositions/composition-record.ts'
import { Contribution } from './compositions/contribution-record.ts'
import { Directory } from './compositions/directory-record.ts'
import { EhrStatus } from './compositions/ehr-status-record.ts'
import { AdverseReaction } from './conditions/adverse-reaction.ts'
import { Device } from './conditions/device.ts'
import { Diagnosis } from './conditions/diagnosis.ts'
import { type ClassKind, defineKind, type Kind } from './ehr-records/kind.ts'
import { payloadViolations } from './ehr-records/refusals/payload-violations.ts'
import { ehrDerivation } from './ehrs/ehr-derivation.ts'
import { ehrLists } from './ehrs/ehrs.ts'
import { Event } from './events/event.ts'
import { PlanAlertRules } from './measurements/alerts/alert-rules.ts'
import { PlanThresholds } from './measurements/alerts/plan-thresholds.ts'
import { Acq } from './measurements/kinds/acq.ts'
import { BloodGlucose } from './measurements/kinds/blood-glucose.ts'
import { BloodPressure } from './measurements/kinds/blood-pressure.ts'
import { BodyMassIndex } from './measurements/kinds/body-mass-index.ts'
import { BodyTemperature } from './measurements/kinds/body-temperature.ts'
import { BodyWeight } from './measurements/kinds/body-weight.ts'
import { Dsmq } from './measurements/kinds/dsmq.ts'
import { Hads } from './measurements/kinds/hads.ts'
import { HeartRate } from './measurements/kinds/heart-rate.ts'
import { OxygenSaturation } from './measurements/kinds/oxygen-saturation.ts'
import { isMeasurementKind } from './measurements/measurement.ts'
import { Immunisation } from './medications/immunisation.ts'
import { Medication } from './medications/medication.ts'
import { recordDerivationOf } from './record-derivation.ts'
import type { Derivation } from './store/backfill/derivation.ts'
import { createHistoryDerivation } from './store/backfill/history-derivation.ts'
import { Occurrence } from './user-data/occurrence.ts'
import { Measurement } from './user-data/typed-measurement.ts'

const Ehr = defineKind(EhrForms, {
  words: { en: 'health record', nl: 'dossier' },
  fhir: { shownAs: 'Patient' },
  lists: ehrLists,
})

const Custom = defineKind(CustomForms, {
  words: { en: 'other data', nl: 'overige gegevens' },
  fhir: { absent: 'Its content has no known meaning' },
  rules: { dependentFields: [], violations: ({ payload }) => payloadViolations(payload) },
  lists: {},
  indexes: [
    { key: { ehrId: 1 }, name: 'by_ehrId' },
    { key: { carePlanId: 1 }, name: 'by_carePlanId' },
  ],
})

/** All kinds that are also classes of the class family. */
export const classKinds = {
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
  Medication,
  Immunisation,
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

export type ClassName = keyof typeof classKinds

export const CLASS_NAMES = Object.keys(classKinds) as ClassName[]

/** The kind of a class, without the types of its fields. */
export const classKindOf = (name: ClassName): ClassKind => classKinds[name] as unknown as ClassKind

export const isClassName = (name: unknown): name is ClassName =>
  typeof name === 'string' && Object.hasOwn(classKinds, name)

export const MEASUREMENT_KINDS = CLASS_NAMES.map(classKindOf).filter(isMeasurementKind)

/** The collection of the measurements of a kind, or of a user's data of a type. */
export const measurementCollectionOf = (kind: string): string =>
  (MEASUREMENT_KINDS.find(({ path }) => path === kind) ?? Measurement).collection

const ATTACHABLE_CLASSES: readonly string[] = [
  'Event',
  'Occurrence',
  'Measurement',
  ...MEASUREMENT_KINDS.map(({ name }) => name),
]

/** The collection of a record that a chat message may refer to; undefined for other types. */
export const attachableCollectionOf = (type: string): string | undefined =>
  type === 'Composition' ? Composition.collection : ATTACHABLE_CLASSES.find((name) => name === type)

/**
 * THE table of kinds of records. It determines classes, triggers, stores and indexes, the data that is
 * deleted and restored with an EHR, the export, the audit's words, documentation and tests. A test fails when
 * a collection with EHR data is missing here.
 */
export const kinds: readonly Kind[] = [
  ...CLASS_NAMES.map(classKindOf),
  ...([
    Participation,
    PlanSettings,
    PlanThresholds,
    PlanAlertRules,
    Composition,
    EhrStatus,
    Directory,
    Contribution,
  ] as unknown as Kind[]),
]

/** The kinds whose deleted records stay readable and may return, by the names that clients know. */
export const deletableKinds: ReadonlyMap<string, Kind> = new Map([
  ...CLASS_NAMES.map(classKindOf)
    .filter(({ parentType, readOnly }) => parentType !== 'none' && !readOnly)
    .map((kind): [string, Kind] => [kind.name, kind]),
  ['Composition', Composition as unknown as Kind],
])

const collectionsIn = (...parentTypes: Kind['parentType'][]): string[] =>
  kinds.filter(({ parentType }) => parentTypes.includes(parentType)).map(({ collection }) => collection)

/**
 * All derivations of stored fields. The history comes first, because others look up former versions in it.
 * @param otherDerivations the derivations of records that other rooms interpret
 */
export function createDerivations(otherDerivations: readonly Derivation[]): readonly Derivation[] {
  const ofRecords = [
    ehrDerivation,
    ...CLASS_NAMES.flatMap((name) => recordDerivationOf(classKindOf(name)) ?? []),
    ...otherDerivations,
  ]
  const collections = kinds.map(({ collection }) => collection)
  return [createHistoryDerivation(collections, ofRecords), ...ofRecords]
}

const HELPER_ACTS = new Map(kinds.map(({ collection, helperAct }) => [collection, helperAct]))

/** The permission that a helper needs for writing records of a collection, and for reading messages. */
export const helperActOf = (collection: string) => HELPER_ACTS.get(collection)

const CHAT_COLLECTIONS = [ChatTopic.collection, ChatMessage.collection]

/** The collections of the records in an EHR, care plan or goal, at any depth, including chats about it. */
export const containedCollections = {
  Ehr: collectionsIn('EHR', 'plan', 'either', 'goal'),
  CarePlan: collectionsIn('plan', 'either', 'goal'),
  Goal: [...collectionsIn('goal'), ...CHAT_COLLECTIONS],
  Task: CHAT_COLLECTIONS,
  Event: CHAT_COLLECTIONS,
}
