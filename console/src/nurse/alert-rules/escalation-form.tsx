import { useQuery } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { participantsQuery } from '../../model/health-record.ts'
import { parseDecimal } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { CheckField, TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { type AlertRulesProps, useAlertRulesChange } from './alert-rules-query.ts'

/** To whom the alerts of a plan go, one after the other. */
export function EscalationForm(props: AlertRulesProps) {
  const t = useText()
  const { me, planId } = props
  const participants = useQuery(participantsQuery(me.ehrId, planId))
  const { draft, change, form } = useEscalationDraft(props)
  const toggle = (mvUid: string, isChosen: boolean) =>
    change({
      participants: isChosen
        ? [...draft.participants, mvUid]
        : draft.participants.filter((one) => one !== mvUid),
    })
  return (
    <section className="panel" aria-labelledby="escalation">
      <h3 id="escalation">{t('escalation.title')}</h3>
      <p className="help">{t('escalation.help')}</p>
      <Loaded query={participants}>
        {(items) => (
          <Form form={form} submit={t('save')}>
            <fieldset>
              <legend>{t('escalation.who')}</legend>
              {items
                .filter(({ access }) => access !== 'READ')
                .map(({ mvUid, role }) => (
                  <CheckField
                    key={mvUid}
                    label={placeText(
                      draft.participants,
                      mvUid,
                      mvUid === me.mvUid ? t('you') : (role ?? mvUid),
                    )}
                    isChecked={draft.participants.includes(mvUid)}
                    onChange={(isChosen) => toggle(mvUid, isChosen)}
                  />
                ))}
            </fieldset>
            <TextField
              {...form.field('escalation')}
              label={t('escalation.after')}
              value={draft.afterMinutes}
              onChange={(afterMinutes) => change({ afterMinutes })}
            />
          </Form>
        )}
      </Loaded>
    </section>
  )
}

/** The name of a participant with the place in the order, once chosen. */
function placeText(chosen: readonly string[], mvUid: string, name: string): string {
  const place = chosen.indexOf(mvUid) + 1
  return place > 0 ? `${name} (${place})` : name
}

function useEscalationDraft({ me, planId, rules: { escalation } }: AlertRulesProps) {
  const save = useAlertRulesChange(me, planId)
  const fresh = () => ({
    afterMinutes: String(escalation?.afterMinutes ?? 30),
    participants: escalation?.participants ?? [],
  })
  const { draft, isKept, change, clear } = useDraft(`${me.mvUid}:escalation:${planId}`, fresh)
  // A form that nobody has touched shows what is stored now.
  const shown = isKept ? draft : fresh()
  const form = useSubmit(async () => {
    const { participants, afterMinutes } = shown
    // The service says what is wrong with what is no number.
    const minutes = (parseDecimal(afterMinutes) ?? afterMinutes) as number
    await save(({ escalation: _, ...rest }) => ({
      ...rest,
      ...(participants.length > 0 && { escalation: { afterMinutes: minutes, participants } }),
    }))
    clear()
  })
  return { draft: shown, change: (part: Partial<typeof draft>) => change({ ...shown, ...part }), form }
}
