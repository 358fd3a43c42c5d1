import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useText } from '../../texts/translate.ts'
import { CheckField } from '../../ui/form/field.tsx'
import { QuestionDialog, useQuestion } from '../../ui/form/question-dialog.tsx'
import { isQueueOn, refreshQueue, turnQueueOff, turnQueueOn, useQueue } from './measurement-queue.ts'

/** Lets this device keep measurements while there is no network. Off unless the person turns it on. */
export function QueueSetting({ account }: { account: string }) {
  const t = useText()
  const queries = useQueryClient()
  const count = useQueue()?.length ?? 0
  const [isOn, setOn] = useState(() => isQueueOn(account))
  const turnOff = async () => {
    await turnQueueOff(account)
    setOn(false)
    await refreshQueue(queries, account)
  }
  const { ask, dialog } = useQuestion(turnOff)
  const change = (isChecked: boolean) => {
    if (!isChecked) return count > 0 ? ask() : turnOff()
    turnQueueOn(account)
    setOn(true)
  }
  return (
    <>
      <CheckField label={t('queue.setting')} isChecked={isOn} onChange={change}>
        <p className="help">{t('queue.settingHelp')}</p>
      </CheckField>
      <QuestionDialog
        {...dialog}
        title={t('queue.turnOff')}
        text={t('queue.turnOffHelp', { count })}
        yes={t('queue.turnOffYes')}
        no={t('queue.turnOffNo')}
      />
    </>
  )
}
