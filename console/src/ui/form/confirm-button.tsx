import { useState } from 'react'
import { useText } from '../../texts/translate.ts'
import { QuestionDialog } from './question-dialog.tsx'

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
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        {label} <span className="unseen">{about}</span>
      </button>
      <QuestionDialog
        {...{ title: label, text: question, yes, no: t('back'), isOpen: isAsking }}
        onAnswer={(isYes) => {
          setAsking(false)
          if (isYes) onConfirm()
        }}
      />
    </>
  )
}
