import { saveFile } from '../../browser/save-file.ts'
import type { PageProps } from '../../model/page-props.ts'
import { api } from '../../session/user-session.ts'
import type { Language } from '../../texts/language.ts'
import { chooseLanguage, isolate, useLanguage, useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { SelectField } from '../../ui/form/field.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { LogOutButton } from '../queue/log-out-button.tsx'
import { QueueSetting } from '../queue/queue-setting.tsx'
import { AccountRemoval } from './account-removal.tsx'
import { PasswordForm } from './password-form.tsx'
import { Sessions } from './sessions.tsx'

const LANGUAGES = [
  { value: 'en', label: 'English' },
  { value: 'nl', label: 'Nederlands' },
]

export default function AccountPage({ me: { mvUid, email, name } }: PageProps) {
  const t = useText()
  const language = useLanguage()
  const change = useSubmit(async () => {
    const next: Language = language === 'en' ? 'nl' : 'en'
    await chooseLanguage(next)
    await api.update('/auth/account/{mvUid}', { params: { path: { mvUid } } }, () => ({ language: next }))
  })
  const saving = useSubmit(async () => {
    const { data } = await api.GET('/profile/{mvUid}/export', {
      params: { path: { mvUid } },
      parseAs: 'blob',
    })
    saveFile('health-record.json', data)
  })
  return (
    <>
      <Heading title={t('account.title')} />
      <p>
        {isolate(name)}, {email}
      </p>
      <p>
        {t('account.code')} <strong>{mvUid}</strong>
      </p>
      <SelectField
        label={t('account.language')}
        value={language}
        options={LANGUAGES}
        onChange={change.submit}
      />
      {change.problem && <FailureNote error={change.problem} />}
      <section aria-labelledby="device">
        <h2 id="device">{t('account.device')}</h2>
        <QueueSetting account={mvUid} />
      </section>
      <section aria-labelledby="sessions">
        <h2 id="sessions">{t('account.sessions')}</h2>
        <Sessions mvUid={mvUid} />
      </section>
      <section aria-labelledby="password">
        <h2 id="password">{t('password.title')}</h2>
        <PasswordForm />
      </section>
      <section aria-labelledby="data">
        <h2 id="data">{t('account.data')}</h2>
        {saving.problem && <FailureNote error={saving.problem} />}
        <div className="actions">
          <button type="button" onClick={saving.submit} aria-disabled={saving.isBusy}>
            {t('account.export')}
          </button>
          <LogOutButton />
        </div>
        <AccountRemoval mvUid={mvUid} />
      </section>
    </>
  )
}
