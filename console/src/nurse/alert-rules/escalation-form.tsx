import { useQueryClient } from '@tanstack/react-query'
import { useMergeDraft } from '../../browser/drafts.ts'
import { ehrKey } from '../../model/queries.ts'
import { useText } from '../../texts/translate.ts'
import { ConflictView } from '../../ui/form/conflict-view.tsx'
import { CheckField, TextField } from '../../ui/form/field.tsx'
import { parseWholeNumber } from '../../ui/form/fields-problem.ts'
import { changedMeanwhile, Form, saveUnlessChanged, useSubmit } from '../../ui/form/form.tsx'
import {
  type AlertRules,
  type AlertRulesProps,
  isSameRule,
  useAlertRulesChange,
} from './alert-rules-query.ts'

interface EscalationFormProps extends AlertRulesProps {
  /** The people who may take alerts. */
  writers: readonly string[]
  nameOf(mvUid: string): string
}

/** The fields as texts; the users by their ids, in order, with commas. */
type EscalationTexts = Record<'participants' | 'afterMinutes', string>

/** The longest is a week. */
const MINUTES = { field: 'escalation.afterMinutes', min: 1, max: 10_080 }

const idsIn = (participants: string): string[] => participants.split(',').filter(Boolean)

const textsOf = ({ escalation }: AlertRules): EscalationTexts => ({
  participants: (escalation?.participants ?? []).join(),
  afterMinutes: String(escalation?.afterMinutes ?? 30),
})

/** Chooses to whom the alerts go. What somebody else saves meanwhile is shown, and never overwritten unseen. */
export function EscalationForm(props: EscalationFormProps) {
  const t = useText()
  const { rules, writers, nameOf } = props
  const { draft, form, edit, merge } = useEscalationDraft(props)
  const theirs = textsOf(rules)
  const { base, mine } = draft
  const participantIds = idsIn(mine.participants)
  const toggle = (mvUid: string, isChosen: boolean) =>
    edit({
      participants: (isChosen
        ? [...participantIds, mvUid]
        : participantIds.filter((one) => one !== mvUid)
      ).join(),
    })
  const participantsField = form.field('escalation.participants')
  const labels = { participants: t('escalation.who'), afterMinutes: t('escalation.after') }
  return (
    <>
      {!form.isBusy && !isSameRule(theirs, base) && (
        <ConflictView
          {...{ labels, base, mine, theirs }}
          textOf={(field, text) => (field === 'participants' ? idsIn(text).map(nameOf).join(', ') : text)}
          onMerge={merge}
        />
      )}
      <Form form={form} submit={t('save')} saved={t('form.saved')} isPrinted>
        <fieldset>
          <legend>{labels.participants}</legend>
          {participantsField.error && <p className="error">{participantsField.error}</p>}
          {writers.map((mvUid) => (
            <CheckField
              key={mvUid}
              name={participantsField.name}
              label={placeText(participantIds, mvUid, nameOf(mvUid))}
              isChecked={participantIds.includes(mvUid)}
              onChange={(isChosen) => toggle(mvUid, isChosen)}
            />
          ))}
        </fieldset>
        <TextField
          {...form.field(MINUTES.field)}
          label={labels.afterMinutes}
          value={mine.afterMinutes}
          onChange={(afterMinutes) => edit({ afterMinutes })}
        />
      </Form>
    </>
  )
}

/** The name of a participant with the place in the order, once chosen. */
function placeText(participantIds: readonly string[], mvUid: string, name: string): string {
  const place = participantIds.indexOf(mvUid) + 1
  return place > 0 ? `${name} (${place})` : name
}

function useEscalationDraft({ me, planId, rules }: EscalationFormProps) {
  const { mvUid, ehrId } = me
  const queries = useQueryClient()
  const save = useAlertRulesChange(me, planId)
  const key = `${mvUid}:escalation:${planId}`
  // The version is that of all rules, so the texts themselves are compared.
  const { draft, clear, ...changes } = useMergeDraft(key, textsOf(rules), {})
  const form = useSubmit(async () => {
    const { participants, afterMinutes } = draft.mine
    const minutes = parseWholeNumber(afterMinutes, MINUTES)
    const next = participants !== '' && {
      escalation: { afterMinutes: minutes, participants: idsIn(participants) },
    }
    const saving = save((current) => {
      // Other rules of the plan may change meanwhile; they stay.
      if (!isSameRule(textsOf(current), draft.base)) throw changedMeanwhile()
      const { escalation: _, ...rest } = current
      return { ...rest, ...next }
    })
    const isSaved = await saveUnlessChanged(saving)
    if (isSaved) clear()
    // After a conflict, what the other one wrote appears above the form.
    else await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
    return isSaved
  })
  return { draft, form, ...changes }
}
