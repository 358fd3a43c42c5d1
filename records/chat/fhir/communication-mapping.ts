import { extensionElement, ownUri, referenceElement, userReference } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { alternativeToken, dateParameter, userParameter } from '../../fhir/search/search-parameters.ts'

/** Resource types of attachments; all others are observations. */
const ATTACHMENT_TYPES: Readonly<Record<string, string>> = {
  Event: 'Appointment',
  Composition: 'DocumentReference',
  Acq: 'QuestionnaireResponse',
  Hads: 'QuestionnaireResponse',
  Dsmq: 'QuestionnaireResponse',
}

/** The service alone writes messages, so nothing is read. */
const readOnlyElement = (show: FhirElement['show']): FhirElement => ({ paths: {}, show, read: () => ({}) })

const attachmentReference = ({ type, id }: { type: string; id: string }) => ({
  contentReference: { reference: `${ATTACHMENT_TYPES[type] ?? 'Observation'}/${id}` },
})

const statusParameter = alternativeToken('Status: completed; entered-in-error after deletion', () => [
  ['completed', { deleted: false }],
  ['entered-in-error', { deleted: true }],
])

/** A message; a deleted one and former versions have no text. */
export const communicationMapping: FhirMapping = {
  type: 'Communication',
  elements: [
    readOnlyElement(({ deleted }) => ({ status: deleted === true ? 'entered-in-error' : 'completed' })),
    referenceElement('ehrId', 'subject', 'Patient'),
    readOnlyElement(({ carePlanId }) =>
      carePlanId === undefined ? {} : { about: [{ reference: `CarePlan/${carePlanId}` }] },
    ),
    readOnlyElement(({ goalId }) =>
      goalId === undefined ? {} : { about: [{ reference: `Goal/${goalId}` }] },
    ),
    readOnlyElement(({ taskId }) =>
      taskId === undefined ? {} : { about: [{ reference: `Task/${taskId}` }] },
    ),
    readOnlyElement(({ eventId }) =>
      eventId === undefined ? {} : { about: [{ reference: `Appointment/${eventId}` }] },
    ),
    readOnlyElement(({ createdAt }) => ({ sent: createdAt })),
    { ...readOnlyElement(({ createdBy }) => ({ sender: userReference(createdBy) })), namesUsers: true },
    referenceElement('replyTo', 'inResponseTo[0]', 'Communication'),
    readOnlyElement(({ deleted, text, attachments = [] }) => {
      const references = (attachments as { type: string; id: string }[]).map(attachmentReference)
      const payload = [...(text ? [{ contentString: text }] : []), ...references]
      return deleted === true || payload.length === 0 ? {} : { payload }
    }),
    extensionElement('topicId', ownUri('chat-topic'), 'valueString'),
  ],
  onlyInPresent: ['text', 'attachments'],
  required: [],
  search: {
    sent: dateParameter('Time of writing', 'createdAt'),
    sender: userParameter('Author', 'createdBy', 'sender'),
    status: statusParameter,
  },
  sortedBy: 'sent',
}
