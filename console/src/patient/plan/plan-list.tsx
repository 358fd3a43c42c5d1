import { useQueries } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { type CarePlan, planQuery } from '../../model/health-record.ts'
import { type Me, mayAct, recordPath } from '../../model/me.ts'
import { formatDate } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { HistoryLink } from '../history/history-link.tsx'
import { TaskRow } from '../home/task-list.tsx'

/** The goals and open tasks of care plans. */
export function Plans({ me, ids }: { me: Me; ids: readonly string[] }) {
  const plans = useQueries({ queries: ids.map((id) => planQuery(me.ehrId, id)) })
  return plans.map((plan, at) => (
    <Loaded key={ids[at]} query={plan}>
      {(loaded) => <Plan me={me} plan={loaded} />}
    </Loaded>
  ))
}

function Plan({ me, plan }: { me: Me; plan: CarePlan }) {
  const t = useText()
  return (
    <section className="panel" aria-labelledby={plan.id}>
      <h2 id={plan.id}>{plan.name}</h2>
      {plan.description && <p>{plan.description}</p>}
      {plan.dueDate && <p className="help">{t('plan.until', { date: formatDate(plan.dueDate) })}</p>}
      <p className="help">
        <HistoryLink me={me} path={`careplan/${plan.id}`} name={plan.name} />
      </p>
      {plan.goals.length === 0 && <p>{t('plan.noGoals')}</p>}
      {plan.goals
        .filter(({ status }) => status === 'ACTIVE')
        .map((goal) => (
          <Goal key={goal.id} me={me} goal={goal} />
        ))}
    </section>
  )
}

function Goal({ me, goal }: { me: Me; goal: CarePlan['goals'][number] }) {
  const t = useText()
  const open = goal.tasks.filter(({ status }) => status === 'ACTIVE')
  const path = `careplan/${goal.carePlanId}/goal/${goal.id}`
  const doneCount = goal.tasks.length - open.length
  return (
    <>
      <h3>{goal.name}</h3>
      {goal.description && <p>{goal.description}</p>}
      {goal.notes && <p className="help">{goal.notes}</p>}
      <ul className="rows">
        {open.map((task) => (
          <TaskRow
            key={task.id}
            ehrId={me.ehrId}
            task={task}
            more={<HistoryLink me={me} path={`${path}/task/${task.id}`} name={task.name} />}
          />
        ))}
      </ul>
      <p className="help">
        {t('plan.done', { count: doneCount })}{' '}
        {mayAct(me, 'PLAN') && (
          <Link to={`${recordPath(me)}/plan/${goal.carePlanId}/goal/${goal.id}`}>
            {t('edit')} <span className="unseen">{goal.name}</span>
          </Link>
        )}{' '}
        <HistoryLink me={me} path={path} name={goal.name} />
      </p>
    </>
  )
}
