import { type ReactNode, useRef } from 'react'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'

interface RuleRowsProps<R> {
  /** Only writers get the buttons. */
  isWriter: boolean
  rules: readonly R[]
  /** The text if there are no rules. */
  none: string
  textOf(rule: R): string
  /** The button of a rule; `run` shows what the service refuses. */
  children(rule: R, text: string, run: (action: () => Promise<void>) => void): ReactNode
}

/** Rules in words, each with a button for those who may change them. */
export function RuleRows<R>({ isWriter, rules, none, textOf, children }: RuleRowsProps<R>) {
  if (rules.length === 0) return <p>{none}</p>
  return (
    <ul className="rows">
      {rules.map((rule) => (
        <RuleRow key={JSON.stringify(rule)} rule={rule} text={textOf(rule)} isWriter={isWriter}>
          {children}
        </RuleRow>
      ))}
    </ul>
  )
}

interface RuleRowProps<R> extends Pick<RuleRowsProps<R>, 'isWriter' | 'children'> {
  rule: R
  text: string
}

function RuleRow<R>({ rule, text, isWriter, children }: RuleRowProps<R>) {
  const action = useRef(async () => {})
  const running = useSubmit(() => action.current())
  const run = (next: () => Promise<void>) => {
    action.current = next
    running.submit()
  }
  return (
    <li>
      <div className="grow">
        {text}
        {running.problem && <FailureNote error={running.problem} />}
      </div>
      {isWriter && children(rule, text, run)}
    </li>
  )
}
