import type { InvitationEnum } from '../../../schemas/enums.ts'
import type { FhirJson } from '../../fhir/element-paths.ts'
import {
  conceptTextElement,
  constantElement,
  extensionElement,
  momentElement,
  momentOf,
  ownUri,
  referencedId,
  referenceElement,
  STRUCTURES,
  userIdOf,
  userReference,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import {
  anyOfConditions,
  constantToken,
  dateParameter,
  type FhirSearchParameter,
  referenceParameter,
  textToken,
  userParameter,
} from '../../fhir/search/search-parameters.ts'

const PARTICIPANT_STATUSES: Readonly<Record<string, string>> = {
  INVITED: 'needs-action',
  ACCEPTED: 'accepted',
  TENTATIVE: 'tentative',
  DECLINED: 'declined',
} satisfies Record<(typeof InvitationEnum)['static'], string>

const INVITATIONS = new Map(Object.entries(PARTICIPANT_STATUSES).map(([word, code]) => [code, word]))

/** FHIR demands an end if there is a start. An event without an end says that it has none. */
const endElement: FhirElement = {
  paths: { end: 'end' },
  show: ({ end }) =>
    end === undefined
      ? { _end: { extension: [{ url: `${STRUCTURES}/data-absent-reason`, valueCode: 'not-applicable' }] } }
      : { end },
  read: ({ end }) => ({ end: momentOf(end) }),
}

const participantsIn = ({ participant }: FhirJson): FhirJson[] =>
  Array.isArray(participant) ? participant.filter((one) => typeof one === 'object' && one !== null) : []

const actorOf = ({ actor }: FhirJson, type: string): string | undefined =>
  referencedId((actor as FhirJson | undefined)?.reference, type)

/** The patient, the invited users, and the location, which is a participant in FHIR. */
const participantsElement: FhirElement = {
  paths: { ehrId: 'participant[0].actor', participants: 'participant', location: 'participant' },
  namesUsers: true,
  show: ({ ehrId, participants = [], location }) => ({
    participant: [
      { actor: { reference: `Patient/${ehrId}` }, status: 'accepted' },
      ...(participants as { mvUid: string; status: string }[]).map(({ mvUid, status }) => ({
        actor: userReference(mvUid),
        status: PARTICIPANT_STATUSES[status],
      })),
      ...(location === undefined
        ? []
        : [{ actor: { type: 'Location', display: location }, status: 'accepted' }]),
    ],
  }),
  read: (resource) => {
    const fhirParticipants = participantsIn(resource)
    const participants = fhirParticipants.flatMap((one) => {
      const mvUid = userIdOf(one.actor)
      return mvUid === undefined ? [] : [{ mvUid, status: INVITATIONS.get(String(one.status)) ?? one.status }]
    })
    const location = fhirParticipants
      .map(({ actor }) => actor as FhirJson | undefined)
      .find((one) => one?.type === 'Location')
    return {
      ehrId: fhirParticipants.map((one) => actorOf(one, 'Patient')).find((id) => id !== undefined),
      participants,
      location: location?.display,
    }
  },
}

const practitionerParameter = userParameter('Invited user', 'participantIds', 'participant.actor')
const ofPatient = referenceParameter('Patient', 'ehrId', 'Patient')

/** A bare id may be that of either. */
const actorParameter: FhirSearchParameter = {
  ...practitionerParameter,
  description: 'The patient, or an invited user',
  modifiers: ['Patient', ...practitionerParameter.modifiers],
  where: (value) => anyOfConditions([ofPatient.where(value), practitionerParameter.where(value)]),
}

/** An event as an Appointment. */
export const appointmentMapping: FhirMapping = {
  type: 'Appointment',
  elements: [
    constantElement('status', 'booked'),
    conceptTextElement('type', 'appointmentType'),
    valueElement('title', 'description'),
    valueElement('description', 'comment'),
    momentElement('start', 'start'),
    endElement,
    participantsElement,
    referenceElement('carePlanId', 'supportingInformation[0]', 'CarePlan'),
    extensionElement('allDay', ownUri('all-day'), 'valueBoolean'),
    extensionElement('severity', ownUri('severity'), 'valueCode'),
  ],
  required: ['status', 'appointmentType', 'description', 'start', 'participant'],
  search: {
    date: dateParameter('Start', 'start'),
    status: constantToken('Status: always booked', [{ code: 'booked' }]),
    actor: actorParameter,
    practitioner: practitionerParameter,
    'supporting-info': referenceParameter('Care plan', 'carePlanId', 'CarePlan'),
    'appointment-type': textToken('Kind of the event', 'type'),
  },
  sortedBy: 'date',
  list: 'byStart',
}
