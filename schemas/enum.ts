import { Type } from '@sinclair/typebox'

/** One plain `enum` keyword: a union of literals would give one error per value for a single fault. */
const oneOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, description })

const STATUSES = ['ACTIVE', 'COMPLETED', 'CANCELLED'] as const

export const StatusEnum = oneOf(STATUSES, 'Status; the service sets ACTIVE on creation')

export const ClosingStatusEnum = oneOf(
  STATUSES.filter((status) => status !== 'ACTIVE'),
  'How it was closed; it stays that way',
)

export const AccessEnum = oneOf(
  ['READ', 'WRITE', 'MANAGE'],
  'WRITE: also writes; MANAGE: also manages participants',
)

export const ParticipationStatusEnum = oneOf(
  ['ACTIVE', 'ARCHIVED'],
  'ARCHIVED: kept, without access. An active one gives access from its start to its end',
)

export const PriorityEnum = oneOf(['LOW', 'NORMAL', 'HIGH'], 'How urgent it is')

export const PeriodEnum = oneOf(['DAY', 'WEEK', 'MONTH'], 'Unit of the time between two repetitions')

export const SeverityEnum = oneOf(['LOW', 'MODERATE', 'HIGH', 'CRITICAL'], 'How serious it is')

export const InvitationEnum = oneOf(
  ['INVITED', 'ACCEPTED', 'TENTATIVE', 'DECLINED'],
  'What the participant answered',
)

export const SourceEnum = oneOf(
  ['sensed', 'self-reported'],
  'Measured by a device, or reported by the person',
)

export const PositionEnum = oneOf(
  ['standing', 'sitting', 'reclining', 'lying'],
  'Posture of the body during the measurement',
)

export const CuffLocationEnum = oneOf(
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
  'Where the blood pressure was taken',
)

export const CuffSizeEnum = oneOf(
  ['neonatal', 'infant', 'child', 'small-adult', 'adult', 'large-adult', 'thigh'],
  'Size of the cuff',
)

export const PressureMethodEnum = oneOf(
  ['auscultation', 'palpation', 'oscillometric', 'invasive'],
  'How the blood pressure was determined',
)

export const ThermometerLocationEnum = oneOf(
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
  'Where the temperature was taken; values of different sites are never converted into each other',
)

export const DiagnosisStatusEnum = oneOf(
  ['active', 'recurrence', 'relapse', 'inactive', 'remission', 'resolved'],
  'Clinical status, as of a FHIR R4 Condition',
)

export const CertaintyEnum = oneOf(
  ['unconfirmed', 'provisional', 'differential', 'confirmed', 'refuted', 'entered-in-error'],
  'Verification status, as of a FHIR R4 Condition',
)

export const GradeEnum = oneOf(['mild', 'moderate', 'severe'], 'Severity, as in FHIR R4 and openEHR')

export const ReactionStatusEnum = oneOf(
  ['active', 'inactive', 'resolved'],
  'Clinical status, as of a FHIR R4 AllergyIntolerance',
)

export const VerificationEnum = oneOf(
  ['unconfirmed', 'confirmed', 'refuted', 'entered-in-error'],
  'Verification status, as of a FHIR R4 AllergyIntolerance',
)

export const CriticalityEnum = oneOf(
  ['low', 'high', 'unable-to-assess'],
  'Criticality, as in FHIR R4: how dangerous another exposure may be',
)

export const SubstanceCategoryEnum = oneOf(
  ['food', 'medication', 'environment', 'biologic'],
  'Category of the substance, as in FHIR R4',
)

const ACCOUNT_STATES = ['ACTIVATION_PENDING', 'ACTIVE', 'DISABLED'] as const

export type AccountState = (typeof ACCOUNT_STATES)[number]

export const AccountStateEnum = oneOf(
  ACCOUNT_STATES,
  'ACTIVATION_PENDING until the address is confirmed; DISABLED by an administrator',
)

export const ACCOUNT_ROLES = ['admin', 'modeller', 'analyst'] as const

/** What a person is for the service as a whole; what they are for an EHR stands in the EHR's roles. */
export type AccountRole = (typeof ACCOUNT_ROLES)[number]

export const AccountRoleEnum = oneOf(
  ACCOUNT_ROLES,
  'admin administers accounts; modeller changes templates; analyst queries all EHRs in AQL',
)

export const GenderEnum = oneOf(['MALE', 'FEMALE'], 'Gender')

export const RelationTypeEnum = oneOf(
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
  'What the relation is to the user',
)

export const AddressUsageEnum = oneOf(['POSTAL', 'HOME'], 'What the address is used for')

export const ContactTypeEnum = oneOf(['SKYPE', 'PHONE', 'FAX', 'EMAIL', 'MOBILE'], 'Means of contact')

export const ContactUsageEnum = oneOf(['WORK', 'HOME'], 'Where the person can be reached this way')

export const AvailabilityEnum = oneOf(
  ['BUSINESS_HOURS', 'EVENING', 'NIGHTTIME', 'DAYTIME'],
  'When the person can be reached this way',
)

export const ConnectionStateEnum = oneOf(
  ['PENDING_IN', 'PENDING_OUT', 'CONNECTED'],
  'PENDING_IN: requested by the other side; PENDING_OUT: requested by this side',
)

export const PictureTypeEnum = oneOf(['image/png', 'image/jpeg', 'image/webp'], 'Media type')
