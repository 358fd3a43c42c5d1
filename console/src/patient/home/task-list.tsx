import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from '../../browser/router.tsx'
import type { Task } from '../../model/health-record.ts'
import { useMayAct } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { formatDate, today } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { useFirstEntries } from '../../ui/table/first-entries.tsx'

interface TaskListProps {
  ehrId: string
  mvUid: string
  tasks: readonly Task[]
}

/** The rest of the page must stay in reach. */
const TASKS_AT_ONCE = 10

/** A task without a date may be done on any day, so also today. */
const isForToday = ({ dueDate }: Task): boolean => dueDate === null || dueDate <= today()

/** The first tasks of the person for today, overdue first; each is done with one button. A link leads to those for later. */
export function TaskList({ ehrId, mvUid, tasks }: TaskListProps) {
  const t = useText()
  const mayClose = useMayAct('PLAN')
  const ownTasks = tasks.filter(({ assignee }) => assignee === null || assignee === mvUid)
  const tasksForToday = ownTasks.filter(isForToday)
  const [first, more] = useFirstEntries(tasksForToday, TASKS_AT_ONCE)
  const later = ownTasks.length - tasksForToday.length
  return (
    <>
      {tasksForToday.length === 0 && <p>{t('home.noTasks')}</p>}
      <TaskRows ehrId={ehrId} tasks={first} mayClose={mayClose} />
      {more}
      {later > 0 && (
        <p>
          <Link to="/plan">{t('home.laterTasks', { count: later })}</Link>
        </p>
      )}
    </>
  )
}

interface TaskRowsProps {
  ehrId: string
  tasks: readonly Task[]
  mayClose: boolean
  /** A link beside each button. */
  more?: (task: Task) => ReactNode
}

/** Open tasks, each with a button that closes it. */
export function TaskRows({ ehrId, tasks, mayClose, more }: TaskRowsProps) {
  const t = useText()
  const [doneTask, setDoneTask] = useState<string>()
  return (
    <>
      <ul className="rows">
        {tasks.map((task) => (
          <TaskRow
            key={task.id}
            {...{ ehrId, task, mayClose }}
            more={more?.(task)}
            onDone={() => setDoneTask(task.name)}
          />
        ))}
      </ul>
      <p role="status">{doneTask && t('task.isDone', { name: doneTask })}</p>
    </>
  )
}

/** By when a task or goal is to be done, with a badge once that is over. */
export function DueDate({ dueDate }: Pick<Task, 'dueDate'>) {
  const t = useText()
  if (dueDate === null) return null
  const isLate = dueDate < today()
  return (
    <span className={isLate ? 'band warn' : 'help'}>
      {t(isLate ? 'task.late' : 'task.due', { date: formatDate(dueDate) })}
    </span>
  )
}

interface TaskRowProps {
  ehrId: string
  task: Task
  mayClose: boolean
  more: ReactNode
  onDone: () => void
}

function TaskRow({ ehrId, task, mayClose, more, onDone }: TaskRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const { carePlanId: careplanId, goalId, id: taskId, name, dueDate, description } = task
  const closing = useSubmit(async () => {
    const params = { path: { ehrId, careplanId, goalId, taskId }, header: {} }
    await api.POST('/ehr/{ehrId}/careplan/{careplanId}/goal/{goalId}/task/{taskId}/close', {
      params,
      body: { status: 'COMPLETED' },
    })
    onDone()
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
  })
  return (
    <li>
      <div className="grow">
        <strong>{name}</strong> <DueDate dueDate={dueDate} />
        {description && <p className="help">{description}</p>}
        {closing.problem && <FailureNote error={closing.problem} />}
      </div>
      <div className="row-end">
        {mayClose && (
          <button type="button" aria-disabled={closing.isBusy} onClick={closing.submit}>
            {t('task.done')} <span className="unseen">{name}</span>
          </button>
        )}
        {more}
      </div>
    </li>
  )
}
