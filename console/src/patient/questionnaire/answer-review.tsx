import type { Me } from '../../model/me.ts'
import { useText } from '../../texts/translate.ts'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { type Answers, isComplete, optionsOf, useSaveAnswers } from './answers.ts'
import { itemsOf, type Questionnaire } from './questionnaire-query.ts'

interface AnswerReviewProps {
  me: Me
  questionnaire: Questionnaire
  answers: Answers
  onTurn: (at: number) => void
  onSaved: () => void
}

/** All answers before they are sent. Each leads back to its question. */
export function AnswerReview({ me, questionnaire, answers, onTurn, onSaved }: AnswerReviewProps) {
  const t = useText()
  const save = useSaveAnswers(me, questionnaire)
  const submit = useSubmit(async () => {
    await save(answers)
    onSaved()
  })
  const items = itemsOf(questionnaire)
  return (
    <>
      <Heading title={t('questionnaire.review')} />
      <Form form={submit} submit={t('questionnaire.send')}>
        {!isComplete(questionnaire, answers) && <p className="note">{t('questionnaire.noScore')}</p>}
        <ul className="rows" lang={questionnaire.language}>
          {items.map((item, at) => (
            <li key={item.number}>
              <span className="grow">
                {item.label}:{' '}
                <strong>
                  {optionsOf(questionnaire, item).find(({ value }) => value === answers[item.number])
                    ?.label ?? t('questionnaire.open')}
                </strong>
              </span>
              <button type="button" onClick={() => onTurn(at)}>
                {t('questionnaire.change')} <span className="unseen">{item.label}</span>
              </button>
            </li>
          ))}
        </ul>
      </Form>
    </>
  )
}
