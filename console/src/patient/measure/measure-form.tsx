import type { MeasurementKind } from 'virtual:measurement-kinds'
import { useRef, useState } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import { Link } from '../../browser/router.tsx'
import type { Me } from '../../model/me.ts'
import { kindName, toLocalTime } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { NumberField } from '../../ui/form/number-field.tsx'
import { Heading } from '../../ui/heading.tsx'
import { QuestionDialog } from '../../ui/question-dialog.tsx'
import { emptyReading, type Reading, unusualValues } from './reading.ts'
import { useSaveReading } from './save-reading.ts'
import { SavedNote, type SavedReading } from './saved-note.tsx'

interface MeasureFormProps {
  me: Me
  kind: MeasurementKind
}

/** Large fields for the numbers; the time is now unless the person says otherwise. */
export function MeasureForm({ me, kind }: MeasureFormProps) {
  const t = useText()
  const form = useReadingForm(me, kind)
  const { draft, change, saved, submit, question } = form
  if (saved.length > 0 && !form.isOpen) return <SavedNote kind={kind} saved={saved} onAgain={form.again} />
  return (
    <>
      <Heading title={kindName(kind.path)} />
      <Form form={submit} submit={t('save')} more={<Link to="/measure">{t('back')}</Link>}>
        {kind.quantities.map((quantity) => (
          <NumberField
            key={quantity.name}
            quantity={quantity}
            error={submit.field(quantity.name).error}
            value={draft.values[quantity.name] ?? { text: '', unit: '' }}
            onChange={(value) => change({ values: { ...draft.values, [quantity.name]: value } })}
          />
        ))}
        <TimeField {...{ draft, change }} error={submit.field('timestamp').error} />
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
        onAnswer={form.answer}
      />
    </>
  )
}

/** What is typed, asked and saved. An unusual value is asked about once. */
function useReadingForm(me: Me, kind: MeasurementKind) {
  const { draft, change, clear } = useDraft<Reading>(`${me.mvUid}:measure:${kind.path}`, () =>
    emptyReading(kind),
  )
  const [saved, setSaved] = useState<SavedReading[]>([])
  const [isOpen, setOpen] = useState(true)
  const [question, setQuestion] = useState<string[]>([])
  const isConfirmed = useRef(false)
  const save = useSaveReading(me, kind)
  const submit = useSubmit(async () => {
    const unusual = isConfirmed.current ? [] : unusualValues(kind, draft)
    if (unusual.length > 0) return setQuestion(unusual)
    const record = await save(draft)
    setSaved((before) => [...before, record])
    setOpen(false)
    clear()
  })
  return {
    ...{ draft, saved, isOpen, question, submit },
    change(part: Partial<Reading>) {
      isConfirmed.current = false
      change(part)
    },
    again: () => setOpen(true),
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
  error: string | undefined
}

function TimeField({ draft, change, error }: TimeFieldProps) {
  const t = useText()
  if (draft.time === '')
    return (
      <p>
        {t('measure.now')}{' '}
        <button type="button" onClick={() => change({ time: toLocalTime(new Date()) })}>
          {t('measure.otherTime')}
        </button>
      </p>
    )
  return (
    <TextField
      label={t('measure.time')}
      type="datetime-local"
      error={error}
      value={draft.time}
      onChange={(time) => change({ time })}
    />
  )
}
