import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../../browser/drafts.ts'
import { Link, navigate } from '../../../browser/router.tsx'
import { planQuery } from '../../../model/health-record.ts'
import { type Me, planPath } from '../../../model/me.ts'
import { ehrKey } from '../../../model/queries.ts'
import { useText } from '../../../texts/translate.ts'
import { TextField } from '../../../ui/form/field.tsx'
import { type Creation, Form, useCreation, useSubmit } from '../../../ui/form/form.tsx'
import { LoadedPage } from '../../../ui/loaded.tsx'
import { RecordHeading } from '../../banner/record-heading.tsx'

const EMPTY = { name: '', description: '', dueDate: '' }
type EntryTexts = typeof EMPTY

/** The request of the form: optional texts are missing if they are empty. */
type PlanEntry = Partial<EntryTexts> & Pick<EntryTexts, 'name'>

interface PlanEntryFormProps {
  me: Me
  planId: string
  /** Names the draft among those of the user. */
  draftName: string
  title: string
  labels: EntryTexts
  save(request: Creation<PlanEntry>): Promise<unknown>
}

/** Adds a goal or a task to a plan, and returns to it. */
export function PlanEntryForm(props: PlanEntryFormProps) {
  const plan = useQuery(planQuery(props.me.ehrId, props.planId))
  return <LoadedPage query={plan}>{() => <EntryForm {...props} />}</LoadedPage>
}

function EntryForm({ me, draftName, title, labels, save }: PlanEntryFormProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${me.mvUid}:${draftName}`, () => EMPTY)
  const create = useCreation()
  const form = useSubmit(async () => {
    const { name, ...rest } = draft
    const filledTexts = Object.fromEntries(Object.entries(rest).filter(([, text]) => text.trim()))
    await create({ name, ...filledTexts }, save)
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId) })
    navigate(planPath(me))
  })
  const field = (name: keyof EntryTexts) => ({
    ...form.field(name),
    label: labels[name],
    value: draft[name],
    onChange: (value: string) => change({ [name]: value }),
  })
  return (
    <>
      <RecordHeading me={me} title={title} />
      <Form form={form} submit={t('save')} more={<Link to={planPath(me)}>{t('back')}</Link>}>
        <TextField {...field('name')} />
        <TextField {...field('description')} lines={3} required={false} />
        <TextField {...field('dueDate')} type="date" required={false} />
      </Form>
    </>
  )
}
