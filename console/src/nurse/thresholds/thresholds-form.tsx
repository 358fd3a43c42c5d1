import type { MeasurementKind } from 'virtual:measurement-kinds'
import { useQueryClient } from '@tanstack/react-query'
import { useMergeDraft } from '../../browser/drafts.ts'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import type { Limits, Thresholds } from '../../patient/plan/thresholds-query.ts'
import { api } from '../../session/user-session.ts'
import { decimalText, kindName, parseDecimal, quantityName, unitName } from '../../texts/format.ts'
import { translate, translateName, useText } from '../../texts/translate.ts'
import { ConflictView } from '../../ui/form/conflict-view.tsx'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { fieldsProblem } from '../../ui/form/fields-problem.ts'
import { changedMeanwhile, Form, saveUnlessChanged, useSubmit } from '../../ui/form/form.tsx'

interface ThresholdsFormProps {
  me: Me
  planId: string
  kind: MeasurementKind
  thresholds: Thresholds
}

const NONE = 'none'
const LIMITS = 'limits'
const BANDS = 'bands'

/** The fields as texts: the choice, the limits by their names, and their unit. */
type Texts = Record<string, string>

const limitNames = ({ thresholds: { names } }: MeasurementKind): string[] =>
  names.flatMap((name) => [`${name}Low`, `${name}High`])

function choiceOf(kindThresholds: Thresholds[string]): string {
  if (kindThresholds === undefined) return NONE
  if (typeof kindThresholds === 'string') return kindThresholds
  return 'bands' in kindThresholds ? BANDS : LIMITS
}

function textsOf(kind: MeasurementKind, thresholds: Thresholds): Texts {
  const kindThresholds = thresholds[kind.path]
  const choice = choiceOf(kindThresholds)
  const limits = choice === LIMITS ? (kindThresholds as Limits) : {}
  const texts = limitNames(kind).map((name) => [
    name,
    typeof limits[name] === 'number' ? decimalText(limits[name]) : '',
  ])
  return { choice, ...Object.fromEntries(texts), unit: String(limits.unit ?? kind.thresholds.unit) }
}

/** The name of the field of a limit. */
const fieldNameOf = ({ path }: MeasurementKind, limitName: string): string => `${path}.${limitName}`

/** The thresholds that are typed. @throws Problem that lists limits that are not numbers, or crossed */
function thresholdsFrom(kind: MeasurementKind, texts: Texts, before: Thresholds[string]): Thresholds[string] {
  if (texts.choice === NONE) return undefined
  if (texts.choice === BANDS) return before
  if (texts.choice !== LIMITS) return texts.choice
  const filledNames = limitNames(kind).filter((name) => texts[name]?.trim())
  const labels = limitLabels(kind, texts)
  const faults = filledNames
    .filter((name) => parseDecimal(texts[name] ?? '') === undefined)
    .map((name) => ({
      field: fieldNameOf(kind, name),
      message: translate('violation.number', { name: labels[name] ?? '' }),
    }))
  if (faults.length > 0) throw fieldsProblem(faults)
  const limits = Object.fromEntries(filledNames.map((name) => [name, parseDecimal(texts[name] ?? '') ?? 0]))
  const crossed = kind.thresholds.names
    .filter((name) => Number(limits[`${name}Low`]) >= Number(limits[`${name}High`]))
    .map((name) => ({ field: fieldNameOf(kind, `${name}High`), message: translate('thresholds.order') }))
  if (crossed.length > 0) throw fieldsProblem(crossed)
  return { unit: texts.unit ?? kind.thresholds.unit, ...limits }
}

const limitLabels = ({ thresholds: { names } }: MeasurementKind, { unit = '' }: Texts): Texts =>
  Object.fromEntries(
    names.flatMap((name) =>
      (['Low', 'High'] as const).map((side) => {
        const label = translate(side === 'Low' ? 'thresholds.low' : 'thresholds.high', {
          name: quantityName(name, name),
        })
        return [name + side, `${label} (${unitName(unit)})`]
      }),
    ),
  )

const isSame = (one: Texts, other: Partial<Texts>): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Chooses the thresholds of a kind. What somebody else saves meanwhile is shown, and never overwritten unseen. */
export function ThresholdsForm(props: ThresholdsFormProps) {
  const t = useText()
  const { kind, thresholds } = props
  const { draft, form, edit, merge } = useThresholdsDraft(props)
  const { base, mine } = draft
  const { presets } = kind.thresholds
  const theirs = textsOf(kind, thresholds)
  const hasBands = base.choice === BANDS || theirs.choice === BANDS
  const choices = [NONE, ...presets, LIMITS, ...(hasBands ? [BANDS] : [])]
  const labels = limitLabels(kind, mine)
  const names = mine.choice === LIMITS ? limitNames(kind) : []
  const fieldNames = names.map((name) => fieldNameOf(kind, name))
  return (
    <section className="panel" aria-label={kindName(kind.path)}>
      {!form.isBusy && !isSame(theirs, base) && (
        <ThresholdsConflict {...{ kind, base, mine, theirs }} onMerge={merge} />
      )}
      <Form form={form} submit={t('save')} saved={t('form.saved')} isPrinted>
        <SelectField
          label={kindName(kind.path)}
          {...form.field(kind.path, fieldNames)}
          value={mine.choice ?? ''}
          options={choices.map((value) => ({ value, label: choiceName(value) }))}
          onChange={(choice) => edit({ choice })}
        />
        {names.map((name) => (
          <TextField
            key={name}
            {...form.field(fieldNameOf(kind, name))}
            label={labels[name] ?? name}
            required={false}
            value={mine[name] ?? ''}
            onChange={(text) => edit({ [name]: text })}
          />
        ))}
      </Form>
    </section>
  )
}

const choiceName = (choice: string): string => translateName(`thresholds.${choice}`, choice)

interface ThresholdsConflictProps {
  kind: MeasurementKind
  base: Partial<Texts>
  mine: Texts
  theirs: Texts
  onMerge(mine: Texts): void
}

/** Limits of two units are never mixed: the reader chooses a unit, and with it all limits. */
function ThresholdsConflict({ kind, base, mine, theirs, onMerge }: ThresholdsConflictProps) {
  const t = useText()
  const isOneUnit = theirs.unit === mine.unit
  const unitLabels = { unit: t('thresholds.unit') }
  const labels: Texts = {
    choice: kindName(kind.path),
    ...(isOneUnit ? limitLabels(kind, mine) : unitLabels),
  }
  return (
    <ConflictView
      {...{ labels, base, mine, theirs }}
      textOf={(name, text) => {
        if (name === 'choice') return choiceName(text)
        return name === 'unit' ? unitName(text) : text
      }}
      onMerge={(merged) => onMerge({ ...(merged.unit === theirs.unit ? theirs : mine), ...merged })}
    />
  )
}

const PATH = '/ehr/{ehrId}/careplan/{careplanId}/thresholds'

function useThresholdsDraft({ me: { mvUid, ehrId }, planId, kind, thresholds }: ThresholdsFormProps) {
  const queries = useQueryClient()
  const key = `${mvUid}:thresholds:${planId}:${kind.path}`
  // The version is that of all kinds, so the texts themselves are compared.
  const { draft, clear, ...changes } = useMergeDraft(key, textsOf(kind, thresholds), {})
  const form = useSubmit(async () => {
    const change = (current: Thresholds) => {
      if (!isSame(textsOf(kind, current), draft.base)) throw changedMeanwhile()
      return { ...current, [kind.path]: thresholdsFrom(kind, draft.mine, current[kind.path]) }
    }
    const params = { path: { ehrId, careplanId: planId } }
    const saving = api.update(PATH, { params }, (current) => change(current as Thresholds) as typeof current)
    const isSaved = await saveUnlessChanged(saving)
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
    if (isSaved) clear()
    return isSaved
  })
  return { draft, form, ...changes }
}
