import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { atPatient, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { formatAge } from '../../texts/format.ts'
import { isolate, useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'
import { allTopicsQuery } from './topic-queries.ts'
import { writerText } from './writer-text.ts'

export default function MessagesPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const path = `${recordPath(me)}/messages`
  const topics = useQuery(allTopicsQuery(me.ehrId))
  return (
    <>
      <RecordHeading me={me} title={t('messages.title')} />
      <div className="actions">
        <Link to={`${path}/new`} className="button primary">
          {t('messages.new')}
        </Link>
      </div>
      <Loaded query={topics}>
        {(items) =>
          items.length === 0 ? (
            <p>{t('messages.none')}</p>
          ) : (
            <ul className="rows">
              {items.map(({ id, plan, title, createdBy, onBehalfOf, lastMessageAt, unread }) => (
                <li key={id}>
                  <div className="grow">
                    <Link to={`${path}/${plan ? `${plan.id}/` : ''}${id}`}>{title}</Link>
                    <p className="help">
                      {writerText(me, createdBy, onBehalfOf)}, {formatAge(lastMessageAt)}
                      {plan && `, ${isolate(plan.name)}`}
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
