import { toLocalTime } from '../../../schemas/time/iso-time.ts'
import { momentOf } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'

/** The time of a measurement, in local time if its offset is known. */
export const localTimeElement = (path: string): FhirElement => ({
  paths: { timestamp: path, utcOffset: path },
  show: ({ timestamp, utcOffset }) => {
    if (typeof timestamp !== 'string') return {}
    const time = typeof utcOffset === 'string' ? toLocalTime(timestamp, utcOffset) : timestamp
    return { [path]: time.replace(/\.000(?=Z|[+-])/, '') }
  },
  read: (resource) => ({
    timestamp: momentOf(resource[path]),
    utcOffset: /[+-]\d\d:\d\d$/.exec(String(resource[path]))?.[0],
  }),
})
