const FIRST_MS = Date.parse('0001-01-01T00:00:00Z')
const END_MS = Date.parse('+010000-01-01T00:00:00Z')

/** Whether a moment is in the years 1 to 9999 of UTC: RFC 3339 cannot write others. */
export const isInCalendar = (ms: number): boolean => ms >= FIRST_MS && ms < END_MS
