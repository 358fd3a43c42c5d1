/** The id of an archetype, as the text of a pattern: `openEHR-EHR-OBSERVATION.blood_pressure.v2`. */
export const ARCHETYPE_ID_PATTERN =
  '(?:[A-Za-z][\\w.]{0,100}::)?[A-Za-z]\\w*-[A-Za-z]\\w*-[A-Za-z]\\w*\\.\\w[\\w.-]*'

/** The id of a node within an archetype: `at0004`, `at0004.1`, `id5`. */
export const NODE_ID_PATTERN = '(?:at|id)\\d+(?:\\.\\d+)*'
