import type { Me } from '../../model/me.ts'
import { Heading } from '../../ui/heading.tsx'
import { PatientBanner } from './patient-banner.tsx'

/** The heading of a page about a record: at a patient's it says first whose record it is. */
export const RecordHeading = ({ me, title }: { me: Me; title: string }) => (
  <>
    {!me.isPatient && <PatientBanner ehrId={me.ehrId} />}
    <Heading title={title} />
  </>
)
