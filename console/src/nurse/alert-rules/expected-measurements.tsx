import kinds from 'virtual:measurement-kinds'
import { useDraft } from '../../browser/drafts.ts'
import { kindName, today } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { parseWholeNumber } from '../../ui/form/fields-problem.ts'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { type AlertRulesProps, isSameRule, useAlertRulesChange } from './alert-rules-query.ts'
import { RuleRows } from './rule-rows.tsx'

const readerZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

/** The time zone of the plan, if it is not that of the reader. */
const foreignZone = ({ timeZone }: AlertRulesProps['rules']): string | undefined =>
  timeZone === readerZone() ? undefined : timeZone

/** The measurements that are expected regularly; each one that is missing raises an alert. */
export function ExpectedMeasurements(props: AlertRulesProps) {
  const t = useText()
  const { me, planId, rules, isWriter } = props
  const change = useAlertRulesChange(me, planId)
  const expected = rules.expected ?? []
  const zone = foreignZone(rules)
  const textOf = ({ kind, everyDays: count, by }: (typeof expected)[number]): string => {
    const time = zone ? t('expected.zoned', { time: by, zone }) : by
    return t('expected.row', { kind: kindName(kind), count, time })
  }
  return (
    <section className="panel" aria-labelledby="expected">
      <h2 id="expected">{t('expected.title')}</h2>
      <RuleRows isWriter={isWriter} none={t('expected.none')} rules={expected} textOf={textOf}>
        {(one, text, run) => (
          <ConfirmButton
            label={t('expected.remove')}
            about={text}
            question={t('expected.removeHelp')}
            yes={t('expected.removeYes')}
            onConfirm={() =>
              run(() =>
                change(({ expected: expectedRules = [], ...rest }) => ({
                  ...rest,
                  expected: expectedRules.filter((other) => !isSameRule(other, one)),
                })),
              )
            }
          />
        )}
      </RuleRows>
      {isWriter && <ExpectedForm {...props} />}
    </section>
  )
}

function ExpectedForm({ me, planId, rules }: AlertRulesProps) {
  const t = useText()
  const save = useAlertRulesChange(me, planId)
  const { draft, change, clear } = useDraft(`${me.mvUid}:expected:${planId}`, () => ({
    kind: kinds[0]?.path ?? '',
    everyDays: '1',
    by: '20:00',
  }))
  const at = `expected.${rules.expected?.length ?? 0}`
  const form = useSubmit(async () => {
    const { kind, everyDays, by } = draft
    const days = parseWholeNumber(everyDays, { field: `${at}.everyDays`, min: 1, max: 366 })
    await save((current) => ({
      timeZone: readerZone(),
      ...current,
      expected: [...(current.expected ?? []), { kind, from: today(), everyDays: days, by }],
    }))
    clear()
  })
  const zone = foreignZone(rules)
  return (
    <Form form={form} submit={t('expected.add')} saved={t('form.added')}>
      <SelectField
        {...form.field(`${at}.kind`)}
        label={t('patient.kind')}
        value={draft.kind}
        options={kinds.map(({ path }) => ({ value: path, label: kindName(path) }))}
        onChange={(kind) => change({ kind })}
      />
      <TextField
        {...form.field(`${at}.everyDays`)}
        label={t('expected.every')}
        value={draft.everyDays}
        onChange={(everyDays) => change({ everyDays })}
      />
      <TextField
        {...form.field(`${at}.by`)}
        type="time"
        label={t('expected.by')}
        help={zone && t('expected.zone', { zone })}
        value={draft.by}
        onChange={(value) => change({ by: value })}
      />
    </Form>
  )
}
