import { useText } from '../../texts/translate.ts'
import { QuestionDialog, useQuestion } from './question-dialog.tsx'

interface ConfirmButtonProps {
  label: string
  /** Whom or what it changes. */
  about: string
  question: string
  yes: string
  onConfirm: () => void
}

/** Does something with consequences, once the person has confirmed it. */
export function ConfirmButton({ label, about, question, yes, onConfirm }: ConfirmButtonProps) {
  const t = useText()
  const { ask, dialog } = useQuestion(onConfirm)
  return (
    <>
      <button type="button" onClick={ask}>
        {label} <span className="unseen">{about}</span>
      </button>
      <QuestionDialog {...dialog} {...{ title: label, text: question, yes, no: t('back') }} />
    </>
  )
}
