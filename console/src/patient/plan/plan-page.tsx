import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { type CarePlan, planQuery, plansQuery } from '../../model/health-record.ts'
import type { PageProps } from '../../model/page-props.ts'
import { formatDate } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { TaskRow } from '../home/task-list.tsx'

/** The active care plans with their goals and open tasks. */
export default function PlanPage({ me: { ehrId } }: PageProps) {
  const t = useText()
  const plans = useQuery(plansQuery(ehrId))
  return (
    <>
      <Heading title={t('plan.title')} />
      <Loaded query={plans}>
        {(items) =>
          items.length === 0 ? (
            <p>{t('plan.none')}</p>
          ) : (
            <Plans ehrId={ehrId} ids={items.map(({ id }) => id)} />
          )
        }
      </Loaded>
    </>
  )
}

function Plans({ ehrId, ids }: { ehrId: string; ids: readonly string[] }) {
  const plans = useQueries({ queries: ids.map((id) => planQuery(ehrId, id)) })
  return plans.map((plan, at) => (
    <Loaded key={ids[at]} query={plan}>
      {(loaded) => <Plan ehrId={ehrId} plan={loaded} />}
    </Loaded>
  ))
}

function Plan({ ehrId, plan }: { ehrId: string; plan: CarePlan }) {
  const t = useText()
  return (
    <section className="panel" aria-labelledby={plan.id}>
      <h2 id={plan.id}>{plan.name}</h2>
      {plan.description && <p>{plan.description}</p>}
      {plan.dueDate && <p className="help">{t('plan.until', { date: formatDate(plan.dueDate) })}</p>}
      {plan.goals.length === 0 && <p>{t('plan.noGoals')}</p>}
      {plan.goals
        .filter(({ status }) => status === 'ACTIVE')
        .map((goal) => (
          <Goal key={goal.id} ehrId={ehrId} goal={goal} />
        ))}
    </section>
  )
}

function Goal({ ehrId, goal }: { ehrId: string; goal: CarePlan['goals'][number] }) {
  const t = useText()
  const open = goal.tasks.filter(({ status }) => status === 'ACTIVE')
  const doneCount = goal.tasks.length - open.length
  return (
    <>
      <h3>{goal.name}</h3>
      {goal.description && <p>{goal.description}</p>}
      {goal.notes && <p className="help">{goal.notes}</p>}
      <ul className="rows">
        {open.map((task) => (
          <TaskRow key={task.id} ehrId={ehrId} task={task} />
        ))}
      </ul>
      <p className="help">
        {t('plan.done', { count: doneCount })}{' '}
        <Link to={`/plan/${goal.carePlanId}/goal/${goal.id}`}>
          {t('edit')} <span className="unseen">{goal.name}</span>
        </Link>
      </p>
    </>
  )
}
