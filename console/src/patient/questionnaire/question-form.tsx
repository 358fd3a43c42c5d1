import { type FormEvent, useId } from 'react'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { type Answer, optionsOf } from './answers.ts'
import { itemsOf, type Questionnaire, type QuestionnaireItem } from './questionnaire-query.ts'

interface QuestionFormProps {
  questionnaire: Questionnaire
  item: QuestionnaireItem
  /** Position of the question, from 0. */
  at: number
  answer: Answer | undefined
  onAnswer: (answer: Answer) => void
  onTurn: (at: number) => void
}

/** One question with its options. It may stay without an answer. */
export function QuestionForm({ questionnaire, item, at, answer, onAnswer, onTurn }: QuestionFormProps) {
  const t = useText()
  const id = useId()
  const count = itemsOf(questionnaire).length
  const turn = (event: FormEvent) => {
    event.preventDefault()
    onTurn(at + 1)
  }
  return (
    <form onSubmit={turn}>
      <div lang={questionnaire.language}>
        <Heading title={item.label} />
      </div>
      <p id={id}>
        {t('questionnaire.progress', { number: at + 1, count })}{' '}
        <span lang={questionnaire.language}>{questionnaire.recallPeriod.label}</span>
      </p>
      <progress max={count} value={at} aria-labelledby={id} />
      {at === 0 && <Introduction questionnaire={questionnaire} />}
      <fieldset lang={questionnaire.language}>
        <legend className="unseen">{item.label}</legend>
        {optionsOf(questionnaire, item).map(({ value, label }) => (
          <label key={value} className="check">
            <input type="radio" name={id} checked={answer === value} onChange={() => onAnswer(value)} />
            {label}
          </label>
        ))}
      </fieldset>
      <div className="actions">
        <button type="submit" className="primary">
          {t('questionnaire.next')}
        </button>
        {at > 0 && (
          <button type="button" onClick={() => onTurn(at - 1)}>
            {t('questionnaire.previous')}
          </button>
        )}
      </div>
    </form>
  )
}

function Introduction({
  questionnaire: { instruction, textPack, language },
}: {
  questionnaire: Questionnaire
}) {
  return (
    <div lang={language}>
      {instruction && <p>{instruction}</p>}
      <p className="help">{textPack.notice}</p>
    </div>
  )
}
