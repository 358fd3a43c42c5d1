import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { helpersQuery } from '../../model/me.ts'
import { api, type HelperAct } from '../../session/user-session.ts'
import { today, toTypedTime } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { CheckField, SelectField, TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'

const RELATIONS = ['PARENT', 'CHILD', 'PARTNER', 'GUARDIAN', 'OTHER'] as const
type Relation = (typeof RELATIONS)[number]
/** Reading is always included. */
const CHOICES = ['RECORD', 'MESSAGES', 'PLAN'] as const

interface Draft {
  helperId: string
  relation: Relation
  acts: readonly HelperAct[]
  from: string
  until: string
}

/** A year from now, which people can change. */
const nextYear = (): string =>
  `${Number(today().slice(0, 4)) + 1}${today().slice(4).replace('02-29', '02-28')}`

const createDraft = (): Draft => ({
  helperId: '',
  relation: 'CHILD',
  acts: [],
  from: today(),
  until: nextYear(),
})

/** Invites somebody by the code that their account page shows. */
export function InvitationForm({ mvUid }: { mvUid: string }) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid} helper`, createDraft)
  const { helperId, relation, acts, from, until } = draft
  const create = useCreation(mvUid)
  const form = useSubmit(async () => {
    const body = {
      mvUid: helperId.trim(),
      relation,
      acts: ['READ' as const, ...acts.filter((act) => act !== 'READ')],
      ...((from === '' || from > today()) && { from: toTypedTime(`${from}T00:00:00`) }),
      until: toTypedTime(`${until}T23:59:59`),
    }
    const params = { path: { mvUid }, header: {} }
    await create(body, (request) => api.POST('/profile/{mvUid}/helper', { params, ...request }))
    clear()
    await queries.invalidateQueries(helpersQuery(mvUid))
  })
  return (
    <Form form={form} submit={t('helpers.invite')} saved={t('form.added')}>
      <h3>{t('helpers.new')}</h3>
      <TextField
        {...form.field('mvUid')}
        label={t('helpers.code')}
        help={t('helpers.codeHelp')}
        value={helperId}
        onChange={(next) => change({ helperId: next })}
      />
      <SelectField
        {...form.field('relation')}
        label={t('helpers.relation')}
        value={relation}
        options={RELATIONS.map((value) => ({ value, label: t(`relation.${value}`) }))}
        onChange={(next) => change({ relation: next as Relation })}
      />
      <ActChoice acts={acts} onChange={(next) => change({ acts: next })} />
      <TextField
        {...form.field('from')}
        type="date"
        label={t('helpers.from')}
        value={from}
        onChange={(next) => change({ from: next })}
      />
      <TextField
        {...form.field('until')}
        type="date"
        label={t('helpers.until')}
        value={until}
        onChange={(next) => change({ until: next })}
      />
    </Form>
  )
}

interface ActChoiceProps {
  acts: readonly HelperAct[]
  onChange: (acts: readonly HelperAct[]) => void
}

function ActChoice({ acts, onChange }: ActChoiceProps) {
  const t = useText()
  return (
    <fieldset>
      <legend>{t('helpers.acts')}</legend>
      <p className="help">{t('helpers.read')}</p>
      {CHOICES.map((act) => (
        <CheckField
          key={act}
          label={t(`act.${act}`)}
          isChecked={acts.includes(act)}
          onChange={(isChosen) => onChange(isChosen ? [...acts, act] : acts.filter((one) => one !== act))}
        />
      ))}
    </fieldset>
  )
}
