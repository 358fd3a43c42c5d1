import type { MeasurementKind } from 'virtual:measurement-kinds'
import { type ReactNode, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { useDraft } from '../../browser/drafts.ts'
import type { Me } from '../../model/me.ts'
import { toLocalTime } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { findField } from '../../ui/form/fields-problem.ts'
import { Form, type SubmitState, useSubmit } from '../../ui/form/form.tsx'
import { NumberField } from '../../ui/form/number-field.tsx'
import { QuestionDialog } from '../../ui/form/question-dialog.tsx'
import { emptyReading, isTimed, type Reading, unusualValues } from '../measurement/reading.ts'
import type { QueuedMeasurement } from '../queue/measurement-queue.ts'
import { useSaveReading } from './save-reading.ts'
import type { SavedReading } from './saved-note.tsx'

interface ReadingFormProps {
  me: Me
  kind: MeasurementKind
  /** The care plan; by default the first one. */
  planId?: string | undefined
  /** A measurement that the service refused, to be corrected. */
  refusedMeasurement?: QueuedMeasurement | undefined
  /** Further buttons. */
  more: ReactNode
  onSaved: (savedReading: SavedReading) => void
}

/** Large fields for the numbers; the time is now unless the person says otherwise. */
export function ReadingForm({ more, ...options }: ReadingFormProps) {
  const t = useText()
  const { kind } = options
  const { draft, change, submit, question, answer } = useReadingForm(options)
  return (
    <>
      <Form form={submit} submit={t('save')} more={more}>
        {kind.quantities.map((quantity) => (
          <NumberField
            key={quantity.name}
            quantity={quantity}
            error={submit.field(quantity.name).error}
            value={draft.values[quantity.name] ?? { text: '', unit: '' }}
            onChange={(value) => change({ values: { ...draft.values, [quantity.name]: value } })}
          />
        ))}
        <TimeField {...{ draft, change, submit }} />
        <TextField
          {...submit.field('comment')}
          label={t('measure.comment')}
          required={false}
          lines={2}
          value={draft.comment}
          onChange={(comment) => change({ comment })}
        />
      </Form>
      <QuestionDialog
        title={t('measure.unusual')}
        text={t('measure.unusualHelp', { values: question.join(', ') })}
        yes={t('measure.unusualYes')}
        no={t('measure.unusualNo')}
        isOpen={question.length > 0}
        onAnswer={answer}
      />
    </>
  )
}

/** The form for a reading. It asks once about an unusual value. */
function useReadingForm({ me, kind, planId, refusedMeasurement, onSaved }: Omit<ReadingFormProps, 'more'>) {
  // It leaves the queue before the form closes.
  const [correctedMeasurement] = useState(refusedMeasurement)
  const { draft, change, clear } = useDraft<Reading>(
    [
      me.mvUid,
      'measure',
      me.ehrId,
      kind.path,
      ...(correctedMeasurement ? [correctedMeasurement.key] : []),
    ].join(':'),
    () => correctedMeasurement?.reading ?? emptyReading(kind),
  )
  const [question, setQuestion] = useState<string[]>([])
  const isConfirmed = useRef(false)
  const save = useSaveReading({ me, kind, planId, correctedMeasurement })
  const submit = useSubmit(async () => {
    const unusual = isConfirmed.current ? [] : unusualValues(kind, draft)
    if (unusual.length > 0) return setQuestion(unusual)
    const record = await save(draft)
    clear()
    onSaved(record)
  }, correctedMeasurement?.refusal)
  return {
    draft,
    question,
    submit,
    change(part: Partial<Reading>) {
      isConfirmed.current = false
      change(part)
    },
    answer(isRight: boolean) {
      isConfirmed.current = isRight
      setQuestion([])
      if (isRight) submit.submit()
    },
  }
}

interface TimeFieldProps {
  draft: Reading
  change: (part: Partial<Reading>) => void
  submit: SubmitState
}

function TimeField({ draft, change, submit }: TimeFieldProps) {
  const t = useText()
  const showField = () => {
    // The field takes the place of the button, and its focus.
    flushSync(() => change({ time: toLocalTime(new Date()), isTimed: true }))
    findField(submit.element.current, 'timestamp')?.focus()
  }
  if (!isTimed(draft))
    return (
      <p>
        {t('measure.now')}{' '}
        <button type="button" onClick={showField}>
          {t('measure.otherTime')}
        </button>
      </p>
    )
  return (
    <TextField
      label={t('measure.time')}
      type="datetime-local"
      {...submit.field('timestamp')}
      value={draft.time}
      onChange={(time) => change({ time, isTimed: true })}
    />
  )
}
