import { Link } from '../../browser/router.tsx'
import { type Me, recordPath } from '../../model/me.ts'
import { useText } from '../../texts/translate.ts'

interface HistoryLinkProps {
  me: Me
  /** Path of the record within its EHR, such as `careplan/a1/goal/b2`. */
  path: string
  /** Name of the record, for those who hear the link alone. */
  name: string
}

/** Leads to the history of a record. */
export function HistoryLink({ me, path, name }: HistoryLinkProps) {
  const t = useText()
  return (
    <Link
      to={`${recordPath(me)}/history/${path}`}
      className="screen-only"
      aria-label={`${t('history.title')} ${name}`}
    >
      {t('history.title')}
    </Link>
  )
}
