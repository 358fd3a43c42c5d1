import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { type CarePlan, mayWrite, participantsQuery, planQuery } from '../../model/health-record.ts'
import { type Me, mayAct, recordPath } from '../../model/me.ts'
import { formatDate } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Loaded, useShownParts } from '../../ui/loaded.tsx'
import { useFirstEntries } from '../../ui/table/first-entries.tsx'
import { HistoryLink } from '../history/history-link.tsx'
import { DueDate, TaskRows } from '../home/task-list.tsx'
import { PlanFacts } from './plan-facts.tsx'

/** Each plan takes requests of its own. */
const PLANS_AT_ONCE = 5

/** The goals and open tasks of the first care plans, and a button for the others. */
export function Plans({ me, ids }: { me: Me; ids: readonly string[] }) {
  const [first, more] = useFirstEntries(ids, PLANS_AT_ONCE)
  const partCount = useShownParts(useQueries({ queries: first.map((id) => planQuery(me.ehrId, id)) }))
  return (
    <>
      {first
        .slice(0, partCount)
        .map((id) =>
          me.isPatient ? <OwnPlan key={id} me={me} id={id} /> : <PatientPlan key={id} me={me} id={id} />,
        )}
      {partCount > first.length && more}
    </>
  )
}

interface PlanIdProps {
  me: Me
  id: string
}

function OwnPlan({ me, id }: PlanIdProps) {
  const plan = useQuery(planQuery(me.ehrId, id))
  return <Loaded query={plan}>{(data) => <Plan me={me} plan={data} mayChange={mayAct(me, 'PLAN')} />}</Loaded>
}

/** Offers changes to those who may write in the plan. */
function PatientPlan({ me, id }: PlanIdProps) {
  const plan = useQuery(planQuery(me.ehrId, id))
  const participants = useQuery(participantsQuery(me.ehrId, id))
  return (
    <Loaded query={participants}>
      {(items) => (
        <Loaded query={plan}>{(data) => <Plan me={me} plan={data} mayChange={mayWrite(items, me)} />}</Loaded>
      )}
    </Loaded>
  )
}

type PlanGoal = CarePlan['goals'][number]

const isClosed = ({ status }: { status: string }): boolean => status !== 'ACTIVE'

/** Path of a goal within its EHR. */
const pathOf = ({ carePlanId, id }: PlanGoal): string => `careplan/${carePlanId}/goal/${id}`

interface PlanProps {
  me: Me
  plan: CarePlan
  /** Whether the page offers changes. */
  mayChange: boolean
}

function Plan({ me, plan, mayChange }: PlanProps) {
  const t = useText()
  const closedGoals = plan.goals.filter(isClosed)
  return (
    <section className="panel" aria-labelledby={plan.id}>
      <h2 id={plan.id}>{plan.name}</h2>
      {plan.description && <p>{plan.description}</p>}
      {(me.isPatient ? !me.acts : !mayChange) && <PlanFacts ehrId={me.ehrId} planId={plan.id} />}
      {plan.dueDate && <p className="help">{t('plan.until', { date: formatDate(plan.dueDate) })}</p>}
      <p className="links">
        {mayChange && (
          <>
            <Link to={`${recordPath(me)}/plan/${plan.id}/goal/new`}>
              {t('plan.addGoal')} <span className="unseen">{plan.name}</span>
            </Link>
            <Link to={`${recordPath(me)}/plan/${plan.id}/template`}>
              {t('plan.addTemplate')} <span className="unseen">{plan.name}</span>
            </Link>
          </>
        )}
        <HistoryLink me={me} path={`careplan/${plan.id}`} name={plan.name} />
      </p>
      {plan.goals.length === 0 && <p>{t('plan.noGoals')}</p>}
      {plan.goals
        .filter((goal) => !isClosed(goal))
        .map((goal) => (
          <Goal key={goal.id} me={me} goal={goal} mayChange={mayChange} />
        ))}
      {closedGoals.length > 0 && (
        <ClosedList
          me={me}
          summary={t('plan.closedGoals', { count: closedGoals.length })}
          items={closedGoals.map((goal) => ({ ...goal, path: pathOf(goal) }))}
        />
      )}
    </section>
  )
}

function Goal({ me, goal, mayChange }: { me: Me; goal: PlanGoal; mayChange: boolean }) {
  const t = useText()
  const open = goal.tasks.filter((task) => !isClosed(task))
  const closed = goal.tasks.filter(isClosed)
  const path = pathOf(goal)
  const summary = t('plan.done', { count: closed.length })
  return (
    <>
      <h3>{goal.name}</h3>
      <DueDate dueDate={goal.dueDate} />
      {goal.description && <p>{goal.description}</p>}
      {goal.notes && <p className="help">{goal.notes}</p>}
      <TaskRows
        ehrId={me.ehrId}
        tasks={open}
        mayClose={mayChange}
        more={({ id, name }) => <HistoryLink me={me} path={`${path}/task/${id}`} name={name} />}
      />
      {closed.length > 0 && (
        <ClosedList
          me={me}
          summary={summary}
          items={closed.map((task) => ({ ...task, path: `${path}/task/${task.id}` }))}
        />
      )}
      {closed.length === 0 && <p className="help">{summary}</p>}
      <p className="links">
        {mayChange && (
          <>
            <Link to={`${recordPath(me)}/plan/${goal.carePlanId}/goal/${goal.id}/task/new`}>
              {t('plan.addTask')} <span className="unseen">{goal.name}</span>
            </Link>
            <Link to={`${recordPath(me)}/plan/${goal.carePlanId}/goal/${goal.id}`}>
              {t('edit')} <span className="unseen">{goal.name}</span>
            </Link>
          </>
        )}
        <HistoryLink me={me} path={path} name={goal.name} />
      </p>
    </>
  )
}

interface ClosedListProps {
  me: Me
  summary: string
  /** Tasks or goals, with their paths within the EHR. */
  items: readonly (Pick<PlanGoal, 'id' | 'name' | 'status' | 'outcome'> & { path: string })[]
}

/** The goals and tasks that are done or cancelled, with their history. */
function ClosedList({ me, summary, items }: ClosedListProps) {
  const t = useText()
  return (
    <details>
      <summary>{summary}</summary>
      <ul className="rows">
        {items.map(({ id, name, status, outcome, path }) => (
          <li key={id}>
            <div className="grow">
              <strong>{name}</strong>, {t(`planStatus.${status}`)}
              {outcome && <p className="help">{outcome}</p>}
            </div>
            <HistoryLink me={me} path={path} name={name} />
          </li>
        ))}
      </ul>
    </details>
  )
}
