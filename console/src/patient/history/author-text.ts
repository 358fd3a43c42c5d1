import type { Me } from '../../model/me.ts'
import { personName } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import type { NamesById } from './history-query.ts'

/** The author of what the service does by itself. */
const SERVICE = 'service'

/** A user as the reader knows them. Nobody recognises an id. */
export const userText = ({ mvUid }: Me, names: NamesById, id: unknown): string =>
  id === mvUid ? translate('you') : id === SERVICE ? translate('history.service') : personName(names.get(id))

/** For whom a helper did something. A helper who reads it is not that person. */
export const onBehalfText = (
  me: Me,
  { mvUid, name }: { mvUid: string; name: string | null | undefined },
): string =>
  mvUid === me.mvUid && !me.acts
    ? translate('access.forYou')
    : translate('history.for', { who: personName(name) })

/** The author of a change, and the person for whom they made it. */
export function authorText(
  me: Me,
  names: NamesById,
  { userId, onBehalfOf }: { userId: string; onBehalfOf: string | null },
): string {
  const author = userText(me, names, userId)
  if (onBehalfOf === null) return author
  return `${author}, ${onBehalfText(me, { mvUid: onBehalfOf, name: names.get(onBehalfOf) })}`
}
