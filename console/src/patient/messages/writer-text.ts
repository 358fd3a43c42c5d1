import type { components } from 'health-record-client'
import type { Me } from '../../model/me.ts'
import { personName } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import { onBehalfText } from '../history/author-text.ts'

type Message = components['schemas']['ChatMessageResource']

/** The author of a message, and the person for whom they wrote: `Peter Smith, for you`. */
export function writerText(
  me: Me,
  { mvUid, name }: Message['author'],
  person: Message['onBehalfOf'],
): string {
  const writer = mvUid === me.mvUid ? translate('you') : personName(name)
  return person ? `${writer}, ${onBehalfText(me, person)}` : writer
}
