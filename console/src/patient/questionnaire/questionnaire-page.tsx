import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import { Link, navigate, useRoute } from '../../browser/router.tsx'
import type { Me } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { kindName } from '../../texts/format.ts'
import { useLanguage, useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { NotFound } from '../../ui/not-found.tsx'
import { AnswerReview } from './answer-review.tsx'
import type { Answers } from './answers.ts'
import { QuestionForm } from './question-form.tsx'
import {
  itemsOf,
  QUESTIONNAIRES,
  type Questionnaire,
  type QuestionnaireId,
  questionnaireQuery,
} from './questionnaire-query.ts'

/** Asks one question after the other, each at its own URL, and then shows all answers. */
export default function QuestionnairePage({ me, params }: PageProps) {
  const id = QUESTIONNAIRES.find((one) => one === params.questionnaire)
  return id ? <Answering key={id} me={me} id={id} /> : <NotFound />
}

function Answering({ me, id }: { me: Me; id: QuestionnaireId }) {
  const questionnaire = useQuery(questionnaireQuery(id, useLanguage()))
  const [isSaved, setSaved] = useState(false)
  if (isSaved) return <SavedAnswers id={id} />
  return (
    <Loaded query={questionnaire}>
      {(data) => <Questions me={me} questionnaire={data} onSaved={() => setSaved(true)} />}
    </Loaded>
  )
}

interface QuestionsProps {
  me: Me
  questionnaire: Questionnaire
  onSaved: () => void
}

function Questions({ me, questionnaire, onSaved }: QuestionsProps) {
  const { path, query } = useRoute()
  const { draft, change, clear } = useDraft<{ answers: Answers }>(
    [me.mvUid, 'questionnaire', me.ehrId, questionnaire.id].join(':'),
    () => ({ answers: {} }),
  )
  const items = itemsOf(questionnaire)
  const at = Math.max(0, (Number(query.get('question')) || 1) - 1)
  const turn = (to: number) => navigate(`${path}?question=${to + 1}`)
  const item = items[at]
  const commonProps = { questionnaire, onTurn: turn }
  if (!item)
    return (
      <AnswerReview
        {...commonProps}
        me={me}
        answers={draft.answers}
        onSaved={() => {
          clear()
          onSaved()
        }}
      />
    )
  return (
    <QuestionForm
      key={at}
      {...commonProps}
      item={item}
      at={at}
      answer={draft.answers[item.number]}
      onAnswer={(answer) => change({ answers: { ...draft.answers, [item.number]: answer } })}
    />
  )
}

function SavedAnswers({ id }: { id: QuestionnaireId }) {
  const t = useText()
  return (
    <>
      <Heading title={t('measure.saved')} />
      <p role="status">
        {kindName(id)}: {t('questionnaire.saved')}
      </p>
      <div className="actions">
        <Link to="/" className="button primary">
          {t('measure.toHome')}
        </Link>
        <Link to={`/overview?kind=${id}&period=all`} className="button">
          {t('overview.title')}
        </Link>
      </div>
    </>
  )
}
