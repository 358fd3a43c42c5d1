import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'

const RIGHTS = ['READ', 'WRITE'] as const
type Right = (typeof RIGHTS)[number]

interface ParticipantFormProps {
  mvUid: string
  ehrId: string
  plans: readonly { id: string; name: string }[]
}

/** Lets somebody take part in a plan, by the code that their account page shows. */
export function ParticipantForm(props: ParticipantFormProps) {
  const t = useText()
  const { draft, change, form, plan } = useParticipantDraft(props)
  const { code, role, right, until } = draft
  const rights = RIGHTS.map((value) => ({ value, label: t(`participant.${value}`) }))
  return (
    <Form form={form} submit={t('participant.add')} saved={t('form.added')}>
      <h3>{t('participant.new')}</h3>
      <TextField
        {...form.field('mvUid')}
        label={t('participant.code')}
        help={t('participant.codeHelp')}
        value={code}
        onChange={(next) => change({ code: next })}
      />
      <TextField
        {...form.field('role')}
        label={t('participant.role')}
        help={t('participant.roleHelp')}
        value={role}
        onChange={(next) => change({ role: next })}
        required={false}
      />
      {props.plans.length > 1 && (
        <SelectField
          label={t('patient.plan')}
          value={plan?.id ?? ''}
          options={props.plans.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={(planId) => change({ planId })}
        />
      )}
      <SelectField
        {...form.field('access')}
        label={t('participant.right')}
        value={right}
        options={rights}
        onChange={(next) => change({ right: next as Right })}
      />
      <TextField
        {...form.field('end')}
        type="date"
        label={t('participant.until')}
        help={t('participant.untilHelp')}
        value={until}
        onChange={(next) => change({ until: next })}
        required={false}
      />
    </Form>
  )
}

function useParticipantDraft({ mvUid, ehrId, plans }: ParticipantFormProps) {
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid} participant`, () => ({
    planId: '',
    code: '',
    role: '',
    right: 'WRITE' as Right,
    until: '',
  }))
  const plan = plans.find(({ id }) => id === draft.planId) ?? plans[0]
  const create = useCreation(plan?.id)
  const form = useSubmit(async () => {
    const { code, role, right: access, until } = draft
    const params = { path: { ehrId, careplanId: plan?.id ?? '' } }
    const body = {
      mvUid: code.trim(),
      access,
      ...(role.trim() && { role: role.trim() }),
      ...(until && { end: new Date(`${until}T23:59:59`).toISOString() }),
    }
    await create(body, (request) =>
      api.POST('/ehr/{ehrId}/careplan/{careplanId}/participant', { params, ...request }),
    )
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
  })
  return { draft, change, form, plan }
}
