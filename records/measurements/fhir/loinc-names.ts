import type { FhirCoding } from '../../fhir/elements.ts'

export const LOINC = 'http://loinc.org'

/** Long common names. FHIR demands that `display` is the name that the code system gives; our own words are the text. */
const LOINC_NAMES: Readonly<Record<string, string>> = {
  '85354-9': 'Blood pressure panel with all children optional',
  '8480-6': 'Systolic blood pressure',
  '8462-4': 'Diastolic blood pressure',
  '8867-4': 'Heart rate',
  '59408-5': 'Oxygen saturation in Arterial blood by Pulse oximetry',
  '2708-6': 'Oxygen saturation in Arterial blood',
  '8310-5': 'Body temperature',
  '29463-7': 'Body weight',
  '8302-2': 'Body height',
  '39156-5': 'Body mass index (BMI) [Ratio]',
  '15074-8': 'Glucose [Moles/volume] in Blood',
  '2339-0': 'Glucose [Mass/volume] in Blood',
}

/** A code of LOINC with its name there. */
export const namedLoincCode = (code: string): FhirCoding => {
  const display = LOINC_NAMES[code]
  return { system: LOINC, code, ...(display !== undefined && { display }) }
}
