import type { components } from 'health-record-client'
import { Link } from '../../browser/router.tsx'
import { formatMoment, personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'

type AccessEntry = components['schemas']['AccessEntry']

/** The visitors of this week: each person once, with the last time. */
export function Visitors({ entries }: { entries: readonly AccessEntry[] }) {
  const t = useText()
  const people = [...Map.groupBy(entries, ({ userId }) => userId).values()].flatMap(([last]) => last ?? [])
  return (
    <>
      <p>
        {t('home.visitorCount', { count: people.length })} <Link to="/access">{t('home.toAccess')}</Link>
      </p>
      {people.length > 0 && (
        <ul>
          {people.map(({ userId, userName, onBehalfOf, at }) => (
            <li key={userId}>
              {personName(userName)}
              {onBehalfOf !== null && `, ${t('access.forYou')}`}, {formatMoment(at)}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
