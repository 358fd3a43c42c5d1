import { createIdempotencyKey, isProblem, Problem } from 'health-record-client'
import {
  type FormEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { forgetRequest, requestOf } from '../../browser/drafts.ts'
import { usePath } from '../../browser/router.tsx'
import { isSkippedTime } from '../../texts/format.ts'
import { translate, useText } from '../../texts/translate.ts'
import { type FormViolation, violationText } from '../../texts/violation-text.ts'
import { FailureNote } from '../failure-note.tsx'
import { LongWaitNote } from '../skeleton.tsx'
import {
  type FieldFault,
  fieldsProblem,
  findField,
  isWithin,
  labelOf,
  toFormProblem,
} from './fields-problem.ts'

export interface SubmitState {
  isBusy: boolean
  problem: Problem | undefined
  submit(): void
  /** Since the last edit it has succeeded. */
  isSaved: boolean
  /** The form that shows what is refused. */
  element: RefObject<HTMLFormElement | null>
  edit(): void
  /** The violations of the value at this path of the body, without those of parts that have fields of their own. */
  field(path: string, fieldsWithin?: readonly string[]): { name: string; error: string | undefined }
  /** Shows faults that are found before anything is sent. */
  reject(faults: readonly FieldFault[]): void
}

/**
 * Runs the action of a form once at a time, and keeps what the service refused.
 * @param action its rejections are shown: violations beside their fields, all others above the form.
 * It resolves to false if it has stored nothing
 * @param refusal what the service refused at an earlier attempt
 */
export function useSubmit(
  action: () => Promise<unknown>,
  refusal?: ConstructorParameters<typeof Problem>[0],
): SubmitState {
  const [isBusy, setBusy] = useState(false)
  const [isSaved, setSaved] = useState(false)
  const element = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState(() => refusal && new Problem(refusal))
  const [failure, setFailure] = useState<unknown>()
  // A fault of the console itself belongs to the boundary around the page.
  if (failure !== undefined) throw failure
  return {
    isBusy,
    isSaved,
    element,
    problem,
    edit: () => setSaved(false),
    async submit() {
      if (isBusy) return
      setBusy(true)
      setSaved(false)
      setProblem(undefined)
      await action().then(
        (result) => setSaved(result !== false),
        (error: unknown) =>
          isProblem(error) ? setProblem(toFormProblem(error, element.current)) : setFailure(error),
      )
      setBusy(false)
    },
    field(path, fieldsWithin = []) {
      const violations = (problem?.errors ?? []).filter(
        (one) => isWithin(one.path, path) && !fieldsWithin.some((other) => isWithin(one.path, other)),
      )
      return { name: path, error: [...new Set(violations.map(violationText))].join(' ') || undefined }
    },
    reject: (faults) => setProblem(fieldsProblem(faults)),
  }
}

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
 * @param parentId the record in which it is created, if the form lets people choose it
 */
export function useCreation(parentId = '') {
  const slot = `creation:${usePath()}:${parentId}`
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

interface FormProps {
  form: SubmitState
  submit: string
  children: ReactNode
  /** Further buttons. */
  more?: ReactNode
  /** Said once it has succeeded, by forms that stay on the page. */
  saved?: string
  /** Paper has the fields as well, since they show what is stored. */
  isPrinted?: boolean
}

/**
 * Fields with a value that would be sent as another one: the browser reads 31 February as nothing, and a time that the
 * clocks skip as an hour later.
 */
const unreadableFields = (form: HTMLFormElement | null): FieldFault[] =>
  [...(form?.elements ?? [])].flatMap((one) => {
    if (!(one instanceof HTMLInputElement)) return []
    if (one.validity.badInput) return { field: one.name, message: translate('violation.format') }
    return one.type === 'datetime-local' && isSkippedTime(one.value)
      ? { field: one.name, message: translate('violation.skippedTime') }
      : []
  })

/** A form whose violations are listed above it, each leading to its field. */
export function Form({ form, submit, children, more, saved, isPrinted }: FormProps) {
  const { element } = form
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const faults = unreadableFields(element.current)
    if (faults.length > 0) form.reject(faults)
    else form.submit()
  }
  return (
    <form
      ref={element}
      className={isPrinted ? undefined : 'screen-only'}
      onSubmit={onSubmit}
      onChange={form.edit}
      noValidate
      aria-busy={form.isBusy}
    >
      {form.problem && <ProblemSummary problem={form.problem} form={element} />}
      {children}
      <div className="actions">
        <button type="submit" className="primary" aria-disabled={form.isBusy}>
          {submit}
        </button>
        {more}
      </div>
      {form.isBusy && <LongWaitNote />}
      {saved && <p role="status">{form.isSaved && saved}</p>}
    </form>
  )
}

/** The text of a violation with the label of its field, unless it names the field itself. */
function labelledText(violation: FormViolation, form: HTMLFormElement | null): string {
  const text = violationText(violation)
  const field = findField(form, violation.path)
  const label = field ? labelOf(field) : ''
  if (label === '' || text.startsWith(label)) return text
  return /[?:.]$/.test(label) ? `${label} ${text}` : `${label}: ${text}`
}

function ProblemSummary({ problem, form }: { problem: Problem; form: RefObject<HTMLFormElement | null> }) {
  const t = useText()
  const summary = useRef<HTMLDivElement>(null)
  // The labels can be read once the form is there.
  const [isFormThere, setFormThere] = useState(false)
  useLayoutEffect(() => setFormThere(true), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new problem receives the focus
  useEffect(() => summary.current?.focus(), [problem])
  if (problem.errors.length === 0)
    return (
      <div ref={summary} tabIndex={-1}>
        <FailureNote error={problem} />
      </div>
    )
  const element = isFormThere ? form.current : null
  return (
    <div ref={summary} tabIndex={-1} role="alert" className="note bad">
      <p>{t('form.violations', { count: problem.errors.length })}</p>
      <ul>
        {problem.errors.map((violation) => (
          <li key={violation.path + violation.code}>
            <button
              type="button"
              className="link"
              onClick={() => findField(form.current, violation.path)?.focus()}
            >
              {labelledText(violation, element)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
