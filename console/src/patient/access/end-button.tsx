import { useState } from 'react'
import { useText } from '../../texts/translate.ts'
import { QuestionDialog } from '../../ui/form/question-dialog.tsx'

interface EndButtonProps {
  label: string
  /** Whose access it ends. */
  who: string
  question: string
  onEnd: () => void
}

/** Ends the access of somebody, once the person has confirmed it. */
export function EndButton({ label, who, question, onEnd }: EndButtonProps) {
  const t = useText()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        {label} <span className="unseen">{who}</span>
      </button>
      <QuestionDialog
        title={label}
        text={question}
        yes={t('access.endYes')}
        no={t('back')}
        isOpen={isAsking}
        onAnswer={(isYes) => {
          setAsking(false)
          if (isYes) onEnd()
        }}
      />
    </>
  )
}
