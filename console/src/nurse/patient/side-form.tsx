import kinds from 'virtual:measurement-kinds'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { plansQuery } from '../../model/health-record.ts'
import type { Me } from '../../model/me.ts'
import { ReadingForm } from '../../patient/measure/reading-form.tsx'
import { kindName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField } from '../../ui/form/field.tsx'

/** Records a measurement beside the charts, which stay on the screen. */
export function SideForm({ me }: { me: Me }) {
  const t = useText()
  const id = useId()
  const [path, setPath] = useState('')
  const [isSaved, setSaved] = useState(false)
  const [chosen, setPlan] = useState<string>()
  const plans = useQuery(plansQuery(me.ehrId)).data ?? []
  const kind = kinds.find((one) => one.path === path)
  const planId = chosen ?? plans[0]?.id
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{t('measure.start')}</h2>
      <p role="status">{isSaved && t('measure.saved')}</p>
      <SelectField
        label={t('patient.kind')}
        value={path}
        options={[
          { value: '', label: t('patient.choose') },
          ...kinds.map((one) => ({ value: one.path, label: kindName(one.path) })),
        ]}
        onChange={(value) => {
          setPath(value)
          setSaved(false)
        }}
      />
      {kind && plans.length > 1 && (
        <SelectField
          label={t('patient.plan')}
          value={planId ?? ''}
          options={plans.map(({ id: value, name }) => ({ value, label: name }))}
          onChange={setPlan}
        />
      )}
      {kind && (
        <ReadingForm
          key={path}
          me={me}
          kind={kind}
          planId={planId}
          more={
            <button type="button" onClick={() => setPath('')}>
              {t('back')}
            </button>
          }
          onSaved={() => {
            setPath('')
            setSaved(true)
          }}
        />
      )}
    </section>
  )
}
