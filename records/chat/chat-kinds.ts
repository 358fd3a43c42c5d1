import { GOES_WITH, ChatMessage as messageForms, ChatTopic as topicForms } from '../../schemas/chat.ts'
import { kind } from '../registered/kind.ts'

/** By these it is found when that is removed. */
const goesWith = GOES_WITH.map((name) => ({ name, key: { [name]: 1 as const }, sparse: true }))

/** Topics; the class family reads them, and the service writes them. */
export const ChatTopic = kind(topicForms, {
  words: { en: 'chat topics', nl: 'gespreksonderwerpen' },
  readOnly: true,
  lists: {
    ofObject: { by: ['about', 'aboutId'], sort: 'lastMessageAt', order: 'desc' },
    ofEhr: { by: ['ehrId'], sort: 'lastMessageAt', order: 'desc' },
    ofPlan: { by: ['carePlanId'], sort: 'lastMessageAt', order: 'desc' },
  },
  indexes: [{ name: 'reminders', key: { remindAt: 1 }, sparse: true }, ...goesWith],
})

export const ChatMessage = kind(messageForms, {
  words: { en: 'chat messages', nl: 'gespreksberichten' },
  readOnly: true,
  lists: {
    ofTopic: { by: ['topicId'], sort: 'createdAt', order: 'asc' },
    ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' },
    ofPlan: { by: ['carePlanId'], sort: 'createdAt', order: 'desc' },
  },
  indexes: goesWith,
})
