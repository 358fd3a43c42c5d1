import { useRef } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { type AlertStep, useAlertSteps } from './alert-steps.ts'
import type { Selection } from './selection.ts'

interface AlertFormProps {
  mvUid: string
  selection: Selection
}

/** Takes a step with all ticked alerts: resolves them with one note, takes or releases them. */
export function AlertForm({ mvUid, selection }: AlertFormProps) {
  const t = useText()
  const { note, setNote, clear } = useNoteDraft(mvUid, selection.alerts)
  const run = useAlertSteps()
  const action = useRef<AlertStep['action']>('RESOLVE')
  const form = useSubmit(async () => {
    const isResolving = action.current === 'RESOLVE'
    await run(selection.alerts, { action: action.current, ...(isResolving && { note }) })
    selection.clear()
    if (isResolving) clear()
  })
  const count = selection.alerts.length
  const start = (step: AlertStep['action']) => {
    action.current = step
    form.submit()
  }
  return (
    <section className={count > 0 ? 'panel screen-only' : 'screen-only'} aria-labelledby="selected">
      <p id="selected" aria-live="polite" className={count > 0 ? undefined : 'help'}>
        {t('alert.selected', { count })}
      </p>
      {count > 0 && (
        <Form
          form={{ ...form, submit: () => start('RESOLVE') }}
          submit={t('alert.resolve')}
          more={
            <>
              <button type="button" onClick={() => start('TAKE')}>
                {t('alert.takeAll', { count })}
              </button>
              <button type="button" onClick={() => start('RELEASE')}>
                {t('alert.release', { count })}
              </button>
            </>
          }
        >
          <TextField
            {...form.field('note')}
            label={t('alert.note')}
            help={t('alert.noteHelp')}
            lines={2}
            value={note}
            onChange={setNote}
          />
        </Form>
      )}
    </section>
  )
}

/** The note of these patients that was typed for one of these alerts: nobody sees it at other patients or alerts. */
function useNoteDraft(mvUid: string, alerts: Selection['alerts']) {
  const ehrIds = [...new Set(alerts.map(({ ehrId }) => ehrId))].sort()
  const alertIds = alerts.map(({ id }) => id)
  const { draft, change, clear } = useDraft(`${mvUid}:resolution:${ehrIds.join()}`, () => ({
    note: '',
    alertIds,
  }))
  const isAboutThese = draft.alertIds.some((id) => alertIds.includes(id))
  return {
    note: isAboutThese ? draft.note : '',
    setNote: (note: string) => change({ note, alertIds }),
    clear,
  }
}
