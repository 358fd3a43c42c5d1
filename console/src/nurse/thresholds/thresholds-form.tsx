import type { MeasurementKind } from 'virtual:measurement-kinds'
import { useQueryClient } from '@tanstack/react-query'
import { useMergeDraft } from '../../browser/drafts.ts'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import type { Thresholds } from '../../patient/plan/thresholds-query.ts'
import { api } from '../../session/user-session.ts'
import { formatNumber, kindName, parseDecimal, quantityName, unitName } from '../../texts/format.ts'
import { translate, translateName, useText } from '../../texts/translate.ts'
import { ConflictView } from '../../ui/form/conflict-view.tsx'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { fieldsProblem } from '../../ui/form/fields-problem.ts'
import { Form, saveUnlessChanged, useSubmit } from '../../ui/form/form.tsx'

interface LoadedThresholds {
  thresholds: Thresholds
  etag: string
}

interface ThresholdsFormProps {
  me: Me
  planId: string
  kind: MeasurementKind
  loaded: LoadedThresholds
}

const NONE = 'none'
const LIMITS = 'limits'
const BANDS = 'bands'

/** The fields as texts: the choice, and the limits by their names. */
type Texts = Record<string, string>

const limitNames = ({ thresholds: { names } }: MeasurementKind): string[] =>
  names.flatMap((name) => [`${name}Low`, `${name}High`])

function textsOf(kind: MeasurementKind, { thresholds }: LoadedThresholds): Texts {
  const kindThresholds = thresholds[kind.path]
  const limits = typeof kindThresholds === 'object' && !('bands' in kindThresholds) ? kindThresholds : {}
  const choice =
    typeof kindThresholds === 'string'
      ? kindThresholds
      : kindThresholds === undefined
        ? NONE
        : 'bands' in kindThresholds
          ? BANDS
          : LIMITS
  return {
    choice: choice ?? '',
    ...Object.fromEntries(
      limitNames(kind).map((name) => [
        name,
        typeof limits[name] === 'number' ? formatNumber(limits[name], 3) : '',
      ]),
    ),
  }
}

/** The thresholds that are typed. @throws Problem that lists limits that are no numbers */
function thresholdsFrom(kind: MeasurementKind, texts: Texts, before: Thresholds[string]): Thresholds[string] {
  if (texts.choice === NONE) return undefined
  if (texts.choice === BANDS) return before
  if (texts.choice !== LIMITS) return texts.choice
  const filledNames = limitNames(kind).filter((name) => texts[name]?.trim())
  const faults = filledNames
    .filter((name) => parseDecimal(texts[name] ?? '') === undefined)
    .map((field) => ({ field, message: translate('violation.number', { name: limitLabel(kind, field) }) }))
  if (faults.length > 0) throw fieldsProblem(faults)
  const numbers = filledNames.map((name) => [name, parseDecimal(texts[name] ?? '') ?? 0])
  return { unit: kind.thresholds.unit, ...Object.fromEntries(numbers) }
}

function limitLabel({ thresholds: { names, unit } }: MeasurementKind, limit: string): string {
  const name = names.find((one) => limit === `${one}Low` || limit === `${one}High`) ?? ''
  const which = limit.endsWith('Low') ? 'thresholds.low' : 'thresholds.high'
  return `${translate(which, { name: quantityName(name, name) })} (${unitName(unit)})`
}

/** Chooses the thresholds of a kind. What somebody else saves meanwhile is shown, and never overwritten unseen. */
export function ThresholdsForm(props: ThresholdsFormProps) {
  const t = useText()
  const { kind, loaded } = props
  const { draft, form, edit, merge } = useThresholdsDraft(props)
  const { presets } = kind.thresholds
  const choices = [NONE, ...presets, LIMITS, ...(draft.base.choice === BANDS ? [BANDS] : [])]
  const labels: Texts = { choice: kindName(kind.path) }
  for (const name of limitNames(kind)) labels[name] = limitLabel(kind, name)
  return (
    <section className="panel" aria-label={kindName(kind.path)}>
      {loaded.etag !== draft.etag && (
        <ConflictView
          {...{ labels, base: draft.base, mine: draft.mine, theirs: textsOf(kind, loaded) }}
          onMerge={merge}
        />
      )}
      <Form form={form} submit={t('save')}>
        <SelectField
          label={kindName(kind.path)}
          {...form.field(kind.path)}
          value={draft.mine.choice ?? ''}
          options={choices.map((value = '') => ({
            value,
            label: translateName(`thresholds.${value}`, value),
          }))}
          onChange={(choice) => edit({ choice })}
        />
        {draft.mine.choice === LIMITS &&
          limitNames(kind).map((name) => (
            <TextField
              key={name}
              {...form.field(name)}
              label={labels[name] ?? name}
              required={false}
              value={draft.mine[name] ?? ''}
              onChange={(text) => edit({ [name]: text })}
            />
          ))}
      </Form>
    </section>
  )
}

function useThresholdsDraft({ me: { mvUid, ehrId }, planId, kind, loaded }: ThresholdsFormProps) {
  const queries = useQueryClient()
  const key = `${mvUid}:thresholds:${planId}:${kind.path}`
  const { etag } = loaded
  const { draft, clear, ...changes } = useMergeDraft(key, textsOf(kind, loaded), { etag })
  const form = useSubmit(async () => {
    const next = {
      ...loaded.thresholds,
      [kind.path]: thresholdsFrom(kind, draft.mine, loaded.thresholds[kind.path]),
    }
    const params = { path: { ehrId, careplanId: planId } }
    const request = { params, body: next as never, headers: { 'if-match': draft.etag } }
    const isSaved = await saveUnlessChanged(api.PUT('/ehr/{ehrId}/careplan/{careplanId}/thresholds', request))
    if (isSaved) clear()
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
  })
  return { draft, form, ...changes }
}
