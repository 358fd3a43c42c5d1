import { navigate } from '../../browser/router.tsx'
import { useText } from '../../texts/translate.ts'
import { CheckField, SelectField } from '../../ui/form/field.tsx'
import {
  filterOf,
  REASONS,
  SEVERITIES,
  type WorklistFilter,
  worklistRouteOf,
} from '../alerts/worklist-query.ts'

/** Chooses which patients are shown. The URL holds the choice. */
export function WorklistFilters({ filter }: { filter: WorklistFilter }) {
  const t = useText()
  const choose = (part: Record<string, string>) => {
    const before = new URL(worklistRouteOf(filter), 'http://x').searchParams
    navigate(worklistRouteOf(filterOf(new URLSearchParams({ ...Object.fromEntries(before), ...part }))), {
      replace: true,
    })
  }
  const any = { value: '', label: t('worklist.all') }
  return (
    <section className="filters" aria-label={t('worklist.filter')}>
      <SelectField
        label={t('worklist.reason')}
        value={filter.reason ?? ''}
        options={[any, ...REASONS.map((value) => ({ value, label: t(`reason.${value}`) }))]}
        onChange={(reason) => choose({ reason })}
      />
      <SelectField
        label={t('worklist.severity')}
        value={filter.severity ?? ''}
        options={[any, ...SEVERITIES.map((value) => ({ value, label: t(`severity.${value}`) }))]}
        onChange={(severity) => choose({ severity })}
      />
      <CheckField
        label={t('worklist.mine')}
        isChecked={filter.mine === true}
        onChange={(isMine) => choose({ mine: String(isMine) })}
      />
      <CheckField
        label={t('worklist.everybody')}
        isChecked={filter.all === true}
        onChange={(isAll) => choose({ all: String(isAll) })}
      />
    </section>
  )
}
