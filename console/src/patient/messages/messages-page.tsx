import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { topicsQuery } from '../../model/health-record.ts'
import type { PageProps } from '../../model/page-props.ts'
import { formatAge, personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'

export default function MessagesPage({ me: { ehrId } }: PageProps) {
  const t = useText()
  const topics = useQuery(topicsQuery(ehrId))
  return (
    <>
      <Heading title={t('messages.title')} />
      <div className="actions">
        <Link to="/messages/new" className="button primary">
          {t('messages.new')}
        </Link>
      </div>
      <Loaded query={topics}>
        {(items) =>
          items.length === 0 ? (
            <p>{t('messages.none')}</p>
          ) : (
            <ul className="rows">
              {items.map(({ id, title, createdBy, lastMessageAt, unread }) => (
                <li key={id}>
                  <div className="grow">
                    <Link to={`/messages/${id}`}>{title}</Link>
                    <p className="help">
                      {personName(createdBy.name)}, {formatAge(lastMessageAt)}
                    </p>
                  </div>
                  {unread > 0 && <span className="band warn">{t('home.unread', { count: unread })}</span>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  )
}
