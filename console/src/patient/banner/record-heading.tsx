import type { Me } from '../../model/me.ts'
import { Heading } from '../../ui/heading.tsx'
import { PatientBanner } from './patient-banner.tsx'

/** The heading of a page about a record: at a patient's it says first whose record it is. */
export function RecordHeading({ me, title }: { me: Me; title: string }) {
  if (me.isPatient) return <Heading title={title} />
  return (
    <>
      <PatientBanner ehrId={me.ehrId} />
      <h2>{title}</h2>
    </>
  )
}
