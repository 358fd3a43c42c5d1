import { Type } from '@sinclair/typebox'

/** One plain `enum` keyword: a union of literals would give one error per value for a single fault. */
const oneOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, description })

const STATUSES = ['ACTIVE', 'COMPLETED', 'CANCELLED'] as const

export const StatusEnum = oneOf(STATUSES, 'Where it stands; ACTIVE is set by the service on creation')

export const ClosingStatusEnum = oneOf(
  STATUSES.filter((status) => status !== 'ACTIVE'),
  'How it was closed; it stays that way',
)

export const SourceEnum = oneOf(['sensed', 'self-reported'], 'Measured by a device, or told by the person')

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

const ACCOUNT_STATES = ['ACTIVATION_PENDING', 'ACTIVE', 'DISABLED'] as const

export type AccountState = (typeof ACCOUNT_STATES)[number]

export const AccountStateEnum = oneOf(
  ACCOUNT_STATES,
  'ACTIVATION_PENDING until the address is confirmed; DISABLED by an administrator',
)

const ACCOUNT_ROLES = ['admin'] as const

/** What a person is for the service as a whole; what he is for an EHR stands in the EHR's roles. */
export type AccountRole = (typeof ACCOUNT_ROLES)[number]

export const AccountRoleEnum = oneOf(ACCOUNT_ROLES, 'admin administers accounts')
