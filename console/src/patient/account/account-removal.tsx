import { useState } from 'react'
import { api, logOut } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { PasswordField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { QuestionDialog, useQuestion } from '../../ui/form/question-dialog.tsx'

/** Deletes the account, after the password and a question. */
export function AccountRemoval({ mvUid }: { mvUid: string }) {
  const t = useText()
  const [currentPassword, setPassword] = useState('')
  const form = useSubmit(async () => {
    await api.DELETE('/auth/account/{mvUid}', { params: { path: { mvUid } }, body: { currentPassword } })
    await logOut()
  })
  const { ask, dialog } = useQuestion(form.submit)
  return (
    <details>
      <summary>{t('removal.title')}</summary>
      <p>{t('removal.help')}</p>
      <Form form={{ ...form, submit: ask }} submit={t('removal.submit')}>
        <PasswordField
          {...form.field('currentPassword')}
          label={t('removal.password')}
          autoComplete="current-password"
          value={currentPassword}
          onChange={setPassword}
        />
      </Form>
      <QuestionDialog
        {...dialog}
        title={t('removal.submit')}
        text={t('removal.question')}
        yes={t('removal.yes')}
        no={t('back')}
      />
    </details>
  )
}
