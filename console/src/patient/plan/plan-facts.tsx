import kinds, { type MeasurementKind } from 'virtual:measurement-kinds'
import { useQuery } from '@tanstack/react-query'
import { participantsQuery, participantText } from '../../model/health-record.ts'
import { formatList, formatNumber, kindName, quantityName, unitName } from '../../texts/format.ts'
import { translate, translateName, useText } from '../../texts/translate.ts'
import { type Limits, type Thresholds, thresholdsQuery } from './thresholds-query.ts'

/** The participants of a plan, and the values that raise an alert, in words. */
export function PlanFacts({ ehrId, planId }: { ehrId: string; planId: string }) {
  const t = useText()
  const { data: participants = [] } = useQuery(participantsQuery(ehrId, planId))
  const { data: planThresholds } = useQuery(thresholdsQuery(ehrId, planId))
  const names = participants.map((one) => participantText(one))
  const alerts = kinds.flatMap((kind) => alertText(kind, planThresholds?.thresholds[kind.path]) ?? [])
  return (
    <>
      {names.length > 0 && <p className="help">{t('plan.people', { names: formatList(names, 'and') })}</p>}
      {alerts.map((text) => (
        <p key={text} className="help">
          {text}
        </p>
      ))}
    </>
  )
}

/** When a kind raises an alert; undefined: never. */
function alertText(kind: MeasurementKind, thresholds: Thresholds[string]): string | undefined {
  if (thresholds === undefined) return undefined
  const name = kindName(kind.path)
  if (typeof thresholds === 'string')
    return translate('plan.alertPreset', {
      kind: name,
      preset: translateName(`thresholds.${thresholds}`, thresholds),
    })
  if ('bands' in thresholds) return translate('plan.alertBands', { kind: name })
  const limits = limitTexts(kind, thresholds)
  return limits.length > 0
    ? translate('plan.alertLimits', { kind: name, limits: formatList(limits, 'or') })
    : undefined
}

const limitTexts = ({ thresholds: { names, unit } }: MeasurementKind, limits: Limits): string[] =>
  names.flatMap((name) =>
    (['Low', 'High'] as const).flatMap((side) => {
      const limit = limits[name + side]
      if (typeof limit !== 'number') return []
      const value = `${formatNumber(limit, 3)} ${unitName(String(limits.unit ?? unit))}`
      return translate(side === 'Low' ? 'plan.below' : 'plan.above', {
        name: quantityName(name, name),
        value,
      })
    }),
  )
