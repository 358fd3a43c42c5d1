import { createIdempotencyKey, isProblem, Problem, type Violation } from 'health-record-client'
import { type FormEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { forgetRequest, requestOf } from '../../browser/drafts.ts'
import { usePath } from '../../browser/router.tsx'
import { translate, translateName, useText } from '../../texts/translate.ts'
import { FailureNote } from '../failure-note.tsx'
import { type FieldFault, fieldsProblem } from './fields-problem.ts'

export interface SubmitState {
  isBusy: boolean
  problem: Problem | undefined
  submit(): void
  /** The violation of the value at this path of the body. */
  field(path: string): { name: string; error: string | undefined }
  /** Shows faults that are found before anything is sent. */
  reject(faults: readonly FieldFault[]): void
}

/**
 * Runs the action of a form once at a time, and keeps what the service refused.
 * @param action its rejections are shown: violations beside their fields, all others above the form
 * @param refusal what the service refused at an earlier attempt
 */
export function useSubmit(
  action: () => Promise<unknown>,
  refusal?: ConstructorParameters<typeof Problem>[0],
): SubmitState {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState(() => refusal && new Problem(refusal))
  const [failure, setFailure] = useState<unknown>()
  // A fault of the console itself belongs to the boundary around the page.
  if (failure !== undefined) throw failure
  return {
    isBusy,
    problem,
    async submit() {
      if (isBusy) return
      setBusy(true)
      setProblem(undefined)
      await action().catch((error: unknown) => (isProblem(error) ? setProblem(error) : setFailure(error)))
      setBusy(false)
    },
    field(path) {
      const found = problem?.errors.find((one) => isWithin(one.path, path))
      return { name: path, error: found && violationText(found) }
    },
    reject: (faults) => setProblem(fieldsProblem(faults)),
  }
}

/** Whether a violation is about the value at a path, or a part of it. */
const isWithin = (violation: string, path: string): boolean =>
  `${violation.replace(/^(body|query)\./, '')}.`.startsWith(`${path}.`)

/** @returns false when somebody else has changed the record since it was read */
export const saveUnlessChanged = (saving: Promise<unknown>): Promise<boolean> =>
  saving.then(
    () => true,
    (error) => {
      if (isProblem(error, 'precondition-failed')) return false
      throw error
    },
  )

/** The problem of a part of a record that somebody else has changed since it was read. */
export const changedMeanwhile = () =>
  new Problem({ status: 412, code: 'precondition-failed', title: '', errors: [] })

/** A request that creates something once, also when it is sent again. */
export interface Creation<B> {
  body: B
  headers: { 'idempotency-key': string }
}

/**
 * Sends what a form creates: the same content has one key until there is an answer, so that a retry creates it once.
 */
export function useCreation() {
  const slot = `creation:${usePath()}`
  return async <B extends object, R>(body: B, send: (request: Creation<B>) => Promise<R>): Promise<R> => {
    const text = JSON.stringify(body)
    const key = requestOf(slot, text, createIdempotencyKey)
    try {
      const answer = await send({ body, headers: { 'idempotency-key': key } })
      forgetRequest(slot)
      return answer
    } catch (error) {
      if (!isProblem(error, 'network-error', 'timeout')) forgetRequest(slot)
      throw error
    }
  }
}

/** A rule says different things of different fields: a text of the field comes first. */
function violationText({ code, path, message }: Violation): string {
  if (code === 'here') return message
  const field = path.split('.').at(-1) ?? ''
  const other = translate('violation.other', { code, message })
  return translateName(`violation.${code}.${field}`, translateName(`violation.${code}`, other))
}

interface FormProps {
  form: SubmitState
  submit: string
  children: ReactNode
  /** Further buttons. */
  more?: ReactNode
}

/** Fields with a value that the browser cannot read, such as 31 February. They would be sent as empty ones. */
const unreadableFields = (form: HTMLFormElement | null): FieldFault[] =>
  [...(form?.elements ?? [])].flatMap((one) =>
    one instanceof HTMLInputElement && one.validity.badInput
      ? { field: one.name, message: translate('violation.format') }
      : [],
  )

/** A form whose violations are listed above it, each leading to its field. */
export function Form({ form, submit, children, more }: FormProps) {
  const element = useRef<HTMLFormElement>(null)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const faults = unreadableFields(element.current)
    if (faults.length > 0) form.reject(faults)
    else form.submit()
  }
  return (
    <form ref={element} onSubmit={onSubmit} noValidate aria-busy={form.isBusy}>
      {form.problem && <ProblemSummary problem={form.problem} form={element} />}
      {children}
      <div className="actions">
        <button type="submit" className="primary" aria-disabled={form.isBusy}>
          {submit}
        </button>
        {more}
      </div>
    </form>
  )
}

function ProblemSummary({ problem, form }: { problem: Problem; form: RefObject<HTMLFormElement | null> }) {
  const t = useText()
  const summary = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new problem receives the focus
  useEffect(() => summary.current?.focus(), [problem])
  if (problem.errors.length === 0)
    return (
      <div ref={summary} tabIndex={-1}>
        <FailureNote error={problem} />
      </div>
    )
  const fieldOf = (path: string) =>
    [...(form.current?.elements ?? [])].find((one) => {
      const name = one.getAttribute('name')
      return name && isWithin(path, name)
    })
  return (
    <div ref={summary} tabIndex={-1} role="alert" className="note bad">
      <p>{t('form.violations', { count: problem.errors.length })}</p>
      <ul>
        {problem.errors.map((violation) => (
          <li key={violation.path + violation.code}>
            <button
              type="button"
              className="link"
              onClick={() => {
                const field = fieldOf(violation.path)
                if (field instanceof HTMLElement) field.focus()
              }}
            >
              {violationText(violation)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
