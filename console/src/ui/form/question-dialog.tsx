import { type SyntheticEvent, useId, useLayoutEffect, useRef, useState } from 'react'

interface QuestionProps {
  title: string
  text: string
  yes: string
  no: string
  /** Escape counts as no. */
  onAnswer: (isYes: boolean) => void
}

/** A question that is asked now and then: `ask` shows it, and yes does something. */
export function useQuestion(onYes: () => void) {
  const [isOpen, setOpen] = useState(false)
  const onAnswer = (isYes: boolean) => {
    setOpen(false)
    if (isYes) onYes()
  }
  return { ask: () => setOpen(true), dialog: { isOpen, onAnswer } }
}

/** Asks a question that has to be answered before anything else. */
export const QuestionDialog = ({ isOpen, ...question }: QuestionProps & { isOpen: boolean }) =>
  isOpen && <Question {...question} />

function Question({ title, text, yes, no, onAnswer }: QuestionProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const refusal = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    refusal.current?.focus()
    // The browser returns the focus when the dialog closes, not when it is removed.
    return () => element?.close()
  }, [])
  const cancel = (event: SyntheticEvent) => {
    event.preventDefault()
    onAnswer(false)
  }
  return (
    <dialog
      ref={dialog}
      role="alertdialog"
      className="dialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onCancel={cancel}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      <p id={`${id}-text`}>{text}</p>
      <div className="actions">
        <button type="button" className="primary" onClick={() => onAnswer(true)}>
          {yes}
        </button>
        <button type="button" ref={refusal} onClick={() => onAnswer(false)}>
          {no}
        </button>
      </div>
    </dialog>
  )
}
