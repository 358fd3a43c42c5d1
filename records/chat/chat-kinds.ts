import {
  ChatMessageForms as messageForms,
  RELATED_RECORD_FIELD_NAMES,
  ChatTopicForms as topicForms,
} from '../../schemas/chat/chat.ts'
import { defineKind } from '../ehr-records/kind.ts'
import { communicationMapping } from './fhir/communication-mapping.ts'

/** Finds the topics and messages of a container when the container is deleted. */
const containerIndexes = RELATED_RECORD_FIELD_NAMES.map((name) => ({
  name,
  key: { [name]: 1 as const },
  sparse: true,
}))

/** Topics; clients of the class family may only read them. */
export const ChatTopic = defineKind(topicForms, {
  words: { en: 'chat topics', nl: 'gespreksonderwerpen' },
  fhir: { absent: 'Its messages are communications that name it' },
  helperAct: 'MESSAGES',
  readOnly: true,
  lists: {
    ofObject: { requiredFields: ['about', 'aboutId'], sort: 'lastMessageAt', order: 'desc' },
    ofEhr: { requiredFields: ['ehrId'], sort: 'lastMessageAt', order: 'desc' },
    ofPlan: { requiredFields: ['carePlanId'], sort: 'lastMessageAt', order: 'desc' },
  },
  indexes: [
    { name: 'reminders', key: { remindAt: 1 }, sparse: true },
    { name: 'conversations', key: { _wperm: 1 }, partialFilterExpression: { about: 'network' } },
    ...containerIndexes,
  ],
})

/** Selects the topics between a user and any other one. */
export const conversationsOf = (mvUid: string) => ({ about: 'network', _wperm: mvUid })

export const ChatMessage = defineKind(messageForms, {
  words: { en: 'chat messages', nl: 'gespreksberichten' },
  fhir: communicationMapping,
  helperAct: 'MESSAGES',
  readOnly: true,
  lists: {
    ofTopic: { requiredFields: ['topicId'], sort: 'createdAt', order: 'asc' },
    ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' },
    ofPlan: { requiredFields: ['carePlanId'], sort: 'createdAt', order: 'desc' },
  },
  indexes: containerIndexes,
})
