import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { graphQuery, tasksQuery, visitorsQuery } from '../../model/health-record.ts'
import { mayAct, textFor } from '../../model/me.ts'
import { newestValues } from '../../model/newest-values.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded, useShownParts } from '../../ui/loaded.tsx'
import { allTopicsQuery } from '../messages/topic-queries.ts'
import { QueuedMeasurements } from '../queue/queued-measurements.tsx'
import { NewestList } from './newest-list.tsx'
import { TaskList } from './task-list.tsx'
import { Visitors } from './visitors.tsx'

/** Tasks, newest values, unread messages and visitors on one page. */
export default function HomePage({ me }: PageProps) {
  const { ehrId, name, mvUid, acts } = me
  const t = useText()
  const mayRead = mayAct(me, 'MESSAGES')
  const graph = useQuery(graphQuery(ehrId))
  const tasks = useQuery(tasksQuery(ehrId))
  const topics = useQuery({ ...allTopicsQuery(ehrId), enabled: mayRead })
  const visitors = useQuery({ ...visitorsQuery(ehrId), enabled: !acts })
  const partCount = useShownParts([tasks, graph, topics, visitors])
  return (
    <>
      <Heading title={acts ? t('home.of', { name }) : t('home.hello', { name })} />
      {mayAct(me, 'RECORD') && (
        <div className="actions">
          <Link to="/measure" className="button primary">
            {t('measure.start')}
          </Link>
        </div>
      )}
      <QueuedMeasurements me={me} />
      <section aria-labelledby="tasks">
        <h2 id="tasks">{t('home.tasks')}</h2>
        <Loaded query={tasks}>{(items) => <TaskList ehrId={ehrId} mvUid={mvUid} tasks={items} />}</Loaded>
      </section>
      {partCount > 1 && (
        <section aria-labelledby="newest">
          <h2 id="newest">{textFor(me, 'home.newest')}</h2>
          <Loaded query={graph}>{({ series }) => <NewestList values={newestValues(series)} />}</Loaded>
        </section>
      )}
      {mayRead && partCount > 2 && (
        <section aria-labelledby="unread">
          <h2 id="unread">{t('messages.title')}</h2>
          <Loaded query={topics}>
            {(items) => <UnreadNote count={items.reduce((sum, one) => sum + one.unread, 0)} />}
          </Loaded>
        </section>
      )}
      {!acts && partCount > 3 && (
        <section aria-labelledby="visitors">
          <h2 id="visitors">{t('home.visitors')}</h2>
          <Loaded query={visitors}>{(items) => <Visitors entries={items} />}</Loaded>
        </section>
      )}
    </>
  )
}

function UnreadNote({ count }: { count: number }) {
  const t = useText()
  return (
    <p>
      {t('home.unread', { count })} <Link to="/messages">{t('home.toMessages')}</Link>
    </p>
  )
}
