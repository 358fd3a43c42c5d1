import type { MeasurementKind } from 'virtual:measurement-kinds'
import { useState } from 'react'
import { Link } from '../../browser/router.tsx'
import type { Me } from '../../model/me.ts'
import { kindName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import type { QueuedMeasurement } from '../queue/measurement-queue.ts'
import { ReadingForm } from './reading-form.tsx'
import { SavedNote, type SavedReading } from './saved-note.tsx'

interface MeasureFormProps {
  me: Me
  kind: MeasurementKind
  refusedMeasurement?: QueuedMeasurement | undefined
}

/** Asks for a measurement, and then shows what was saved. */
export function MeasureForm({ me, kind, refusedMeasurement }: MeasureFormProps) {
  const t = useText()
  const [savedReadings, setSavedReadings] = useState<SavedReading[]>([])
  const [isOpen, setOpen] = useState(true)
  if (!isOpen) return <SavedNote kind={kind} saved={savedReadings} onAgain={() => setOpen(true)} />
  return (
    <>
      <Heading title={kindName(kind.path)} />
      <ReadingForm
        me={me}
        kind={kind}
        refusedMeasurement={refusedMeasurement}
        more={<Link to="/measure">{t('back')}</Link>}
        onSaved={(record) => {
          setSavedReadings([...savedReadings, record])
          setOpen(false)
        }}
      />
    </>
  )
}
