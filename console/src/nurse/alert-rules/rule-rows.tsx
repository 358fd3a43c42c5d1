import { type ReactNode, useRef } from 'react'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'

interface RuleRowsProps<R> {
  rules: readonly R[]
  /** What stands there if there are no rules. */
  none: string
  textOf(rule: R): string
  /** The button of a rule; `run` shows what the service refuses. */
  children(rule: R, text: string, run: (action: () => Promise<void>) => void): ReactNode
}

/** Rules in words, each with a button. */
export function RuleRows<R>({ rules, none, textOf, children }: RuleRowsProps<R>) {
  if (rules.length === 0) return <p>{none}</p>
  return (
    <ul className="rows">
      {rules.map((rule) => (
        <RuleRow key={JSON.stringify(rule)} rule={rule} text={textOf(rule)}>
          {children}
        </RuleRow>
      ))}
    </ul>
  )
}

interface RuleRowProps<R> extends Pick<RuleRowsProps<R>, 'children'> {
  rule: R
  text: string
}

function RuleRow<R>({ rule, text, children }: RuleRowProps<R>) {
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
      {children(rule, text, run)}
    </li>
  )
}
