import { toXmlLocalTime } from '../../../schemas/time/iso-time.ts'
import { extensionElement, momentOf, ownUri } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'

/** Keeps the offsets that FHIR does not have. */
const keptOffset = extensionElement('utcOffset', ownUri('utc-offset'), 'valueString')

/** The time of a measurement, in local time if its offset is known. */
export const localTimeElement = (path: string): FhirElement => ({
  paths: { timestamp: path, utcOffset: path },
  show: ({ timestamp, utcOffset }) => {
    if (typeof timestamp !== 'string') return {}
    const localTime = toXmlLocalTime(timestamp, utcOffset)
    return {
      [path]: (localTime ?? timestamp).replace(/\.000(?=Z|[+-])/, ''),
      ...(localTime === undefined && keptOffset.show({ utcOffset })),
    }
  },
  read: (resource) => ({
    timestamp: momentOf(resource[path]),
    utcOffset: /[+-]\d\d:\d\d$/.exec(String(resource[path]))?.[0] ?? keptOffset.read(resource).utcOffset,
  }),
})
