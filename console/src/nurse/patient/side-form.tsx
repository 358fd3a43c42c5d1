import kinds from 'virtual:measurement-kinds'
import { useId, useState } from 'react'
import type { Me } from '../../model/me.ts'
import { ReadingForm } from '../../patient/measure/reading-form.tsx'
import type { SavedReading } from '../../patient/measure/saved-note.tsx'
import { useRefused } from '../../patient/queue/refused-measurement.ts'
import { kindName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField } from '../../ui/form/field.tsx'
import { useWritablePlans } from './writable-plans.ts'

/** Records a measurement beside the charts, which stay on the screen, for those who may. */
export function SideForm({ me }: { me: Me }) {
  const t = useText()
  const id = useId()
  const [path, setPath] = useState('')
  const linkedMeasurement = useRefused(me) ?? undefined
  const refusedMeasurement = path === '' ? linkedMeasurement : undefined
  const [savedReading, setSavedReading] = useState<SavedReading>()
  const [chosenPlanId, setPlan] = useState<string>()
  const { plans, isReader } = useWritablePlans(me)
  const kind = kinds.find((one) => one.path === (refusedMeasurement?.kind ?? path))
  if (!plans || (isReader && !linkedMeasurement)) return null
  const plan = plans.find((one) => one.id === refusedMeasurement?.body.carePlanId) ?? plans[0]
  const planId = chosenPlanId ?? plan?.id
  return (
    <section className="panel screen-only" aria-labelledby={id}>
      <h2 id={id}>{t('measure.start')}</h2>
      <p role="status">{savedReading && t(savedReading.isQueued ? 'queue.kept' : 'measure.saved')}</p>
      <KindField
        value={kind?.path ?? ''}
        onChange={(value) => {
          setPath(value)
          setSavedReading(undefined)
        }}
      />
      {kind && plans.length > 1 && <PlanField plans={plans} value={planId ?? ''} onChange={setPlan} />}
      {kind && (
        <ReadingForm
          key={refusedMeasurement?.key ?? path}
          refusedMeasurement={refusedMeasurement}
          me={me}
          kind={kind}
          planId={planId}
          more={
            <button type="button" onClick={() => setPath('')}>
              {t('back')}
            </button>
          }
          onSaved={(record) => {
            setPath('')
            setSavedReading(record)
          }}
        />
      )}
    </section>
  )
}

function KindField({ value, onChange }: { value: string; onChange: (path: string) => void }) {
  const t = useText()
  const options = kinds.map(({ path }) => ({ value: path, label: kindName(path) }))
  return (
    <SelectField
      label={t('patient.kind')}
      value={value}
      options={[{ value: '', label: t('patient.choose') }, ...options]}
      onChange={onChange}
    />
  )
}

interface PlanFieldProps {
  plans: readonly { id: string; name: string }[]
  value: string
  onChange: (planId: string) => void
}

const PlanField = ({ plans, value, onChange }: PlanFieldProps) => (
  <SelectField
    label={useText()('patient.plan')}
    value={value}
    options={plans.map(({ id, name }) => ({ value: id, label: name }))}
    onChange={onChange}
  />
)
