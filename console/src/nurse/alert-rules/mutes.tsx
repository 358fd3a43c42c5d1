import kinds from 'virtual:measurement-kinds'
import { useDraft } from '../../browser/drafts.ts'
import { formatMoment, kindName, toLocalTime, toTypedTime } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { fieldsProblem } from '../../ui/form/fields-problem.ts'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import {
  type AlertRules,
  type AlertRulesProps,
  isSameRule,
  useAlertRulesChange,
} from './alert-rules-query.ts'
import { RuleRows } from './rule-rows.tsx'

type Mute = NonNullable<AlertRules['mutes']>[number]

const DAY_MS = 86_400_000
/** The service stores no more. */
const MAX_MUTES = 20

const isOver = ({ until }: Mute): boolean => new Date(until) <= new Date()

/** The stored mutes, without the oldest ended one if there is no place for another one. */
function mutesWithSpace({ mutes = [] }: AlertRules): Mute[] {
  const oldest = mutes.length < MAX_MUTES ? undefined : mutes.find(isOver)
  return mutes.filter((one) => one !== oldest)
}

/** The alerts that go to nobody for a while, and why. */
export function Mutes(props: AlertRulesProps) {
  const t = useText()
  const { me, planId, rules, isWriter } = props
  const change = useAlertRulesChange(me, planId)
  const mutes = (rules.mutes ?? []).filter((one) => !isOver(one))
  const textOf = ({ kind, until, reason }: Mute): string => {
    const kindText = kind === undefined ? t('mute.all') : kindName(kind)
    return t('mute.row', { kind: kindText, date: formatMoment(until), reason })
  }
  /** An ended mute stays in the list, as a record of what was quiet and why. */
  const end = (one: Mute) =>
    change(({ mutes: muteRules = [], ...rest }) => ({
      ...rest,
      mutes: muteRules.map((mute) =>
        isSameRule(mute, one) ? { ...mute, until: new Date().toISOString() } : mute,
      ),
    }))
  return (
    <section className="panel" aria-labelledby="mutes">
      <h2 id="mutes">{t('mute.title')}</h2>
      <RuleRows isWriter={isWriter} none={t('mute.none')} rules={mutes} textOf={textOf}>
        {(one, text, run) => (
          <button type="button" onClick={() => run(() => end(one))}>
            {t('mute.end')} <span className="unseen">{text}</span>
          </button>
        )}
      </RuleRows>
      {isWriter && <MuteForm {...props} />}
    </section>
  )
}

function MuteForm({ me, planId, rules }: AlertRulesProps) {
  const t = useText()
  const save = useAlertRulesChange(me, planId)
  const { draft, change, clear } = useDraft(`${me.mvUid}:mute:${planId}`, () => ({
    kind: '',
    until: toLocalTime(new Date(Date.now() + DAY_MS)),
    reason: '',
  }))
  const at = `mutes.${mutesWithSpace(rules).length}`
  const form = useSubmit(async () => {
    const { kind, reason } = draft
    const mute = { ...(kind && { kind }), until: toTypedTime(draft.until), reason }
    if (isOver(mute)) throw fieldsProblem([{ field: `${at}.until`, message: t('violation.past') }])
    await save((current) => ({ ...current, mutes: [...mutesWithSpace(current), mute] }))
    clear()
  })
  const choices = kinds.map(({ path }) => ({ value: path, label: kindName(path) }))
  return (
    <Form form={form} submit={t('mute.add')} saved={t('form.added')}>
      <SelectField
        {...form.field(`${at}.kind`)}
        label={t('mute.kind')}
        value={draft.kind}
        options={[{ value: '', label: t('mute.all') }, ...choices]}
        onChange={(kind) => change({ kind })}
      />
      <TextField
        {...form.field(`${at}.until`)}
        type="datetime-local"
        label={t('mute.until')}
        value={draft.until}
        onChange={(until) => change({ until })}
      />
      <TextField
        {...form.field(`${at}.reason`)}
        label={t('mute.reason')}
        value={draft.reason}
        onChange={(reason) => change({ reason })}
      />
    </Form>
  )
}
