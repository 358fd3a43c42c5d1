/** The id of an archetype, as the text of a pattern: `openEHR-EHR-OBSERVATION.blood_pressure.v2`. */
export const ARCHETYPE_ID_PATTERN =
  '(?:[A-Za-z][\\w.]{0,100}::)?[A-Za-z]\\w*-[A-Za-z]\\w*-[A-Za-z]\\w*\\.\\w[\\w.-]*'

/** Archetypes of people and organisations, which the reference model keeps out of the EHR. */
export const isDemographic = (archetypeId: string): boolean => archetypeId.startsWith('openEHR-DEMOGRAPHIC-')

export const DEMOGRAPHIC_REFUSAL =
  'must be an archetype of the EHR (openEHR-EHR-…): people and organisations are users of the service, not compositions'

/** The id of a node within an archetype: `at0004`, `at0004.1`, `id5`. */
export const NODE_ID_PATTERN = '(?:at|id)\\d+(?:\\.\\d+)*'
