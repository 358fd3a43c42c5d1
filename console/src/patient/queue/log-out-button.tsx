import { logOut } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { QuestionDialog, useQuestion } from '../../ui/form/question-dialog.tsx'
import { clearQueue, useQueue, useQueueAccount } from './measurement-queue.ts'

/** Logs out, and asks first if that deletes measurements which wait for the network. */
export function LogOutButton() {
  const t = useText()
  const account = useQueueAccount()
  const count = useQueue()?.length ?? 0
  const { ask, dialog } = useQuestion(async () => {
    await clearQueue(account)
    await logOut()
  })
  return (
    <>
      <button type="button" onClick={() => (count > 0 ? ask() : logOut())}>
        {t('logOut')}
      </button>
      <QuestionDialog
        {...dialog}
        title={t('queue.logOut')}
        text={t('queue.logOutHelp', { count })}
        yes={t('queue.logOutYes')}
        no={t('queue.logOutNo')}
      />
    </>
  )
}
