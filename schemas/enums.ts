import { Type } from '@sinclair/typebox'

/** Uses the keyword `enum`: a union of literals would report one error per value. */
const stringEnum = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, description })

const STATUS_VALUES = ['ACTIVE', 'COMPLETED', 'CANCELLED'] as const

export const StatusEnum = stringEnum(STATUS_VALUES, 'Status; the service sets ACTIVE on creation')

export const ClosingStatusEnum = stringEnum(
  STATUS_VALUES.filter((status) => status !== 'ACTIVE'),
  'Closing status, which is final',
)

export const AccessEnum = stringEnum(
  ['READ', 'WRITE', 'MANAGE'],
  'Access level. WRITE includes READ; MANAGE also manages the participants',
)

export const ParticipationStatusEnum = stringEnum(
  ['ACTIVE', 'ARCHIVED'],
  'Status. ACTIVE gives access from start to end; ARCHIVED gives none',
)

export const PriorityEnum = stringEnum(['LOW', 'NORMAL', 'HIGH'], 'Priority')

export const PeriodEnum = stringEnum(['DAY', 'WEEK', 'MONTH'], 'Unit of the time between two repetitions')

export const SeverityEnum = stringEnum(['LOW', 'MODERATE', 'HIGH', 'CRITICAL'], 'Severity')

export const AlertStateEnum = stringEnum(
  ['NEW', 'SEEN', 'TAKEN', 'RESOLVED'],
  'State: nobody has seen the alert; somebody has; somebody deals with it; it is resolved',
)

export const WorklistReasonEnum = stringEnum(
  ['ALERT', 'MISSED', 'TASK', 'MESSAGE'],
  'Reason: an alert, a missing measurement, an overdue task, an unread message',
)

export const InvitationEnum = stringEnum(
  ['INVITED', 'ACCEPTED', 'TENTATIVE', 'DECLINED'],
  'Response of the participant',
)

export const SourceEnum = stringEnum(
  ['sensed', 'self-reported'],
  'Source: measured by a device (sensed), or reported by the person',
)

export const PositionEnum = stringEnum(
  ['standing', 'sitting', 'reclining', 'lying'],
  'Posture of the body during the measurement',
)

export const CuffLocationEnum = stringEnum(
  [
    'left-arm',
    'right-arm',
    'left-wrist',
    'right-wrist',
    'left-thigh',
    'right-thigh',
    'left-ankle',
    'right-ankle',
    'finger',
  ],
  'Site of the cuff',
)

export const CuffSizeEnum = stringEnum(
  ['neonatal', 'infant', 'child', 'small-adult', 'adult', 'large-adult', 'thigh'],
  'Size of the cuff',
)

export const PressureMethodEnum = stringEnum(
  ['auscultation', 'palpation', 'oscillometric', 'invasive'],
  'Method of the measurement',
)

export const ThermometerLocationEnum = stringEnum(
  [
    'oral',
    'ear',
    'axillary',
    'rectal',
    'forehead',
    'temporal-artery',
    'skin',
    'groin',
    'bladder',
    'vaginal',
    'oesophageal',
    'nasopharyngeal',
    'intravascular',
  ],
  'Site of the thermometer; values of different sites are not converted into each other',
)

export const DiagnosisStatusEnum = stringEnum(
  ['active', 'recurrence', 'relapse', 'inactive', 'remission', 'resolved'],
  'Clinical status, as of a FHIR R4 Condition',
)

export const CertaintyEnum = stringEnum(
  ['unconfirmed', 'provisional', 'differential', 'confirmed', 'refuted', 'entered-in-error'],
  'Verification status, as of a FHIR R4 Condition',
)

export const GradeEnum = stringEnum(['mild', 'moderate', 'severe'], 'Severity, as in FHIR R4 and openEHR')

export const ReactionStatusEnum = stringEnum(
  ['active', 'inactive', 'resolved'],
  'Clinical status, as of a FHIR R4 AllergyIntolerance',
)

export const VerificationEnum = stringEnum(
  ['unconfirmed', 'confirmed', 'refuted', 'entered-in-error'],
  'Verification status, as of a FHIR R4 AllergyIntolerance',
)

export const CriticalityEnum = stringEnum(
  ['low', 'high', 'unable-to-assess'],
  'Criticality, as in FHIR R4: how dangerous another exposure may be',
)

export const SubstanceCategoryEnum = stringEnum(
  ['food', 'medication', 'environment', 'biologic'],
  'Category of the substance, as in FHIR R4',
)

export const MedicationStatusEnum = stringEnum(
  ['active', 'completed', 'entered-in-error', 'intended', 'stopped', 'on-hold', 'unknown', 'not-taken'],
  'Status, as of a FHIR R4 MedicationStatement',
)

export const InformationSourceEnum = stringEnum(
  ['patient', 'related-person', 'practitioner'],
  'Source of the report, as of a FHIR R4 MedicationStatement',
)

export const ImmunisationStatusEnum = stringEnum(
  ['completed', 'entered-in-error', 'not-done'],
  'Status, as of a FHIR R4 Immunization',
)

export const ReportOriginEnum = stringEnum(
  ['provider', 'record', 'recall', 'school', 'jurisdiction'],
  'Source of information that does not come from whoever gave it, as of a FHIR R4 Immunization',
)

const BAND_LEVELS = ['NORMAL', 'BORDERLINE', 'ALERT'] as const

export type BandLevel = (typeof BAND_LEVELS)[number]

export const BandLevelEnum = stringEnum(
  BAND_LEVELS,
  'Level of the band. NORMAL: what its thresholds mark as normal; ALERT: outside the normal range; BORDERLINE: between them',
)

const ACCOUNT_STATES = ['ACTIVATION_PENDING', 'ACTIVE', 'DISABLED'] as const

export type AccountState = (typeof ACCOUNT_STATES)[number]

export const AccountStateEnum = stringEnum(
  ACCOUNT_STATES,
  'State of the account. ACTIVATION_PENDING: the address is not confirmed yet; DISABLED: disabled by an administrator',
)

export const ACCOUNT_ROLES = ['admin', 'modeller', 'analyst'] as const

/** Roles for the whole service; the roles of an EHR grant access to it. */
export type AccountRole = (typeof ACCOUNT_ROLES)[number]

/** Named, because clients in Java have no sets of unnamed enumerations. */
export const AccountRoleEnum = {
  ...stringEnum(
    ACCOUNT_ROLES,
    'Role. admin manages accounts; modeller manages templates; analyst queries all EHRs in AQL',
  ),
  $id: 'AccountRole',
}

export const AuditVerificationStateEnum = stringEnum(
  ['NEVER', 'RUNNING', 'INTACT', 'BROKEN', 'PARTIAL', 'INTERRUPTED'],
  'State. PARTIAL: what could be checked is intact, but a key of earlier entries is missing; INTERRUPTED: the process that checked ended',
)

export const SYSTEM_ROLES = ['modeller', 'analyst'] as const

/** Roles of a connected system. */
export type SystemRole = (typeof SYSTEM_ROLES)[number]

export const SystemRoleEnum = stringEnum(
  SYSTEM_ROLES,
  'Role. modeller manages templates and stored queries; analyst queries all EHRs in AQL',
)

export const GenderEnum = stringEnum(['MALE', 'FEMALE'], 'Gender')

export const RelationTypeEnum = stringEnum(
  [
    'DENTAL_SPECIALIST',
    'FINANCIAL_REVIEWER',
    'MIDWIFE',
    'DIETICIAN',
    'BEAUTICIAN',
    'FRIEND',
    'SECONDARY_CONTACT',
    'FINANCIAL_AGENT',
    'NURSE',
    'MEDICAL_OFFICER',
    'NEIGHBOUR',
    'HEALER',
    'PHYSIOTHERAPIST',
    'PARENT',
    'MENTOR',
    'CURATOR',
    'DENTIST',
    'SPONSOR',
    'FAMILY_MEMBER',
    'REMEDIAL_THERAPIST',
    'DOCTOR',
    'SIBLING',
    'SPECIALIST',
    'LIVING_UNIT',
    'PARTNER',
    'GUARDIAN',
    'HOME_CARE',
    'MEDICAL_SPECIALIST',
    'CHILD',
    'OCCUPATIONAL_THERAPIST',
    'HEALTHCARE_PROVIDER',
    'OTHER',
    'ADMINISTRATOR',
    'PHARMACIST',
    'EMPLOYER',
    'FOSTER_PARENT',
    'PRIMARY_CONTACT',
    'HEIRS',
    'PHYSICIAN_ASSISTANT',
    'PSYCHOLOGIST',
    'GENERAL_PRACTITIONER',
    'SPEECH_THERAPIST',
  ],
  'Type of the relation to the user',
)

export const AddressUsageEnum = stringEnum(['POSTAL', 'HOME'], 'Use of the address')

export const ContactTypeEnum = stringEnum(['SKYPE', 'PHONE', 'FAX', 'EMAIL', 'MOBILE'], 'Means of contact')

export const ContactUsageEnum = stringEnum(['WORK', 'HOME'], 'Use of the contact: at work or at home')

export const AvailabilityEnum = stringEnum(
  ['BUSINESS_HOURS', 'EVENING', 'NIGHTTIME', 'DAYTIME'],
  'Time of day at which the person can be reached',
)

export const ConnectionStateEnum = stringEnum(
  ['PENDING_IN', 'PENDING_OUT', 'CONNECTED'],
  'State of the connection. PENDING_IN: requested by the other user; PENDING_OUT: requested by this user',
)

export const PictureTypeEnum = stringEnum(
  ['image/png', 'image/jpeg', 'image/webp'],
  'Media type of the picture',
)

export const HELPER_ACTS = ['READ', 'RECORD', 'MESSAGES', 'PLAN'] as const
export type HelperAct = (typeof HELPER_ACTS)[number]

/** Named for the same reason as the roles of accounts. */
export const HelperActEnum = {
  ...stringEnum(
    HELPER_ACTS,
    'READ: read the record, without messages; RECORD: add and correct measurements and answers; MESSAGES: read and write messages; PLAN: add and change goals, tasks and events',
  ),
  $id: 'HelperAct',
}

export const HelperRelationEnum = stringEnum(
  ['PARENT', 'CHILD', 'PARTNER', 'GUARDIAN', 'OTHER'],
  'Relation of the helper to the person',
)

export const HelperStateEnum = stringEnum(
  ['INVITED', 'ACTIVE', 'ENDED'],
  'State. INVITED: the helper has not accepted; ACTIVE: accepted, from `from` until `until`; ENDED: by either of the two, or because `until` has passed',
)
