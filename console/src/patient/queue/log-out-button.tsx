import { useState } from 'react'
import { logOut } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { QuestionDialog } from '../../ui/form/question-dialog.tsx'
import { clearQueue, useQueue, useQueueAccount } from './measurement-queue.ts'

/** Logs out, and asks first if that deletes measurements which wait for the network. */
export function LogOutButton() {
  const t = useText()
  const account = useQueueAccount()
  const count = useQueue()?.length ?? 0
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" onClick={() => (count > 0 ? setAsking(true) : logOut())}>
        {t('logOut')}
      </button>
      <QuestionDialog
        title={t('queue.logOut')}
        text={t('queue.logOutHelp', { count })}
        yes={t('queue.logOutYes')}
        no={t('queue.logOutNo')}
        isOpen={isAsking}
        onAnswer={async (isYes) => {
          setAsking(false)
          if (!isYes) return
          await clearQueue(account)
          await logOut()
        }}
      />
    </>
  )
}
