import { useQueryClient } from '@tanstack/react-query'
import { useMergeDraft } from '../../browser/drafts.ts'
import { Link, navigate } from '../../browser/router.tsx'
import type { CarePlan } from '../../model/health-record.ts'
import { type Me, planPath } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { ConflictView } from '../../ui/form/conflict-view.tsx'
import { TextField } from '../../ui/form/field.tsx'
import { Form, saveUnlessChanged, useSubmit } from '../../ui/form/form.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'

type Goal = CarePlan['goals'][number]
type GoalTexts = Record<'name' | 'description' | 'notes' | 'dueDate', string>

const textsOf = ({ name, description, notes, dueDate }: Goal): GoalTexts => ({
  name,
  description: description ?? '',
  notes: notes ?? '',
  dueDate: dueDate ?? '',
})

/** Changes a goal. What somebody else changes meanwhile is shown, and never overwritten unseen. */
export function GoalForm({ me, goal }: { me: Me; goal: Goal }) {
  const t = useText()
  const { draft, form, edit, merge } = useGoalDraft(me, goal)
  const labels = {
    name: t('goal.name'),
    description: t('goal.description'),
    notes: t('goal.notes'),
    dueDate: t('goal.dueDate'),
  }
  const field = (name: keyof GoalTexts) => ({
    ...form.field(name),
    label: labels[name],
    value: draft.mine[name],
    onChange: (value: string) => edit({ [name]: value }),
  })
  return (
    <>
      <RecordHeading me={me} title={t('goal.title')} />
      {goal.version !== draft.version && (
        <ConflictView
          labels={labels}
          base={draft.base}
          mine={draft.mine}
          theirs={textsOf(goal)}
          onMerge={merge}
        />
      )}
      <Form form={form} submit={t('save')} more={<Link to={planPath(me)}>{t('back')}</Link>}>
        <TextField {...field('name')} />
        <TextField {...field('description')} lines={3} required={false} />
        <TextField {...field('notes')} lines={3} required={false} />
        <TextField {...field('dueDate')} type="date" required={false} />
      </Form>
    </>
  )
}

function useGoalDraft(me: Me, goal: Goal) {
  const { mvUid, ehrId } = me
  const queries = useQueryClient()
  const { version } = goal
  const { draft, clear, ...changes } = useMergeDraft(`${mvUid}:goal:${goal.id}`, textsOf(goal), { version })
  const path = { ehrId, careplanId: goal.carePlanId, goalId: goal.id }
  const form = useSubmit(async () => {
    const { name, ...rest } = draft.mine
    const values = Object.fromEntries(
      Object.entries(rest).map(([field, text]) => [field, text.trim() || null]),
    )
    const request = {
      params: { path },
      body: { name, ...values },
      headers: { 'if-match': `"${draft.version}"` },
    }
    const isSaved = await saveUnlessChanged(
      api.PUT('/ehr/{ehrId}/careplan/{careplanId}/goal/{goalId}', request),
    )
    if (isSaved) clear()
    // After a conflict, what the other one wrote appears above the form.
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
    if (isSaved) navigate(planPath(me))
  })
  return { draft, form, ...changes }
}
