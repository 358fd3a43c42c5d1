/** The benchmarks' queries about blood pressures. */
const observation = 'OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'
export const systolic = 'o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude'
const time = 'o/data[at0001]/events[at0006]/time/value'

export const LAST = `SELECT ${time}, ${systolic} FROM EHR e[ehr_id/value=$ehr] CONTAINS COMPOSITION c CONTAINS ${observation} ORDER BY ${time} DESC LIMIT 100`
export const HIGH = `SELECT e/ehr_id/value, ${systolic} FROM EHR e CONTAINS COMPOSITION c CONTAINS ${observation} WHERE ${systolic} >= 180 AND c/context/start_time/value >= '2025-03-01' AND c/context/start_time/value < '2025-04-01'`
export const COUNT = `SELECT COUNT(*) FROM EHR e CONTAINS COMPOSITION c CONTAINS ${observation}`

export const NEWEST = `SELECT c/uid/value, ${time}, ${systolic} FROM EHR e[ehr_id/value=$ehr] CONTAINS COMPOSITION c CONTAINS ${observation} ORDER BY ${time} DESC LIMIT 10`
/** @param key the path of ORDER BY */
export const orderedPage = (key: string): string =>
  `SELECT e/ehr_id/value, c/uid/value, ${key} FROM EHR e CONTAINS COMPOSITION c CONTAINS ${observation} ORDER BY ${key} DESC LIMIT 20`
export const AVERAGES = `SELECT e/ehr_id/value, AVG(${systolic}), COUNT(*) FROM EHR e CONTAINS COMPOSITION c CONTAINS ${observation}`
