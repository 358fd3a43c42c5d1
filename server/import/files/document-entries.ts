import { readFile, stat } from 'node:fs/promises'
import { MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import { bodyMassIndex, diastolic, systolic } from '../../../records/measurements/quantities/quantities.ts'
import type { Quantity } from '../../../records/measurements/quantities/quantity.ts'
import { parseJsonFile } from '../../../schemas/json/json-file.ts'
import { isUnitOf } from '../../../schemas/measurements/units.ts'
import {
  definedMembers,
  type ImportEntry,
  type ImportRequest,
  isJsonObject,
  type JsonObject,
  memberAt,
  nonEmptyText,
  objectsIn,
} from '../import-entry.ts'
import { createSubjectReader, requireOneSubject } from './document-subject.ts'

/** Limit of a JSON document, which is read into memory. */
const MAX_DOCUMENT_BYTES = 200 * 1024 * 1024

/**
 * Yields the entries of a FHIR R4 bundle or an array of Open mHealth data points.
 * @throws Error for other documents, and for data of several people
 */
export async function* readDocumentEntries(file: string): AsyncGenerator<ImportEntry> {
  if ((await stat(file)).size > MAX_DOCUMENT_BYTES)
    throw new Error('A JSON file can have at most 200 MB. Split it.')
  let document: unknown
  try {
    document = parseJsonFile(await readFile(file))
  } catch (error) {
    throw new Error(`The file is not valid JSON: ${(error as Error).message}`)
  }
  // FHIR has no empty arrays: a bundle that found nothing has no entries.
  const bundle =
    isJsonObject(document) && document.resourceType === 'Bundle' ? (document.entry ?? []) : undefined
  const documentEntries = Array.isArray(document) ? document : bundle
  if (!Array.isArray(documentEntries))
    throw new Error('The file is neither a FHIR R4 bundle nor an array of Open mHealth data points.')
  const read = Array.isArray(document) ? fromDataPoint : ({ resource }: JsonObject) => fromResource(resource)
  const entries = documentEntries.map((one, i): ImportEntry => {
    const importEntry = isJsonObject(one) ? read(one) : { fault: 'is not an object' }
    return { at: `entry ${i + 1}`, read: (i + 1) / documentEntries.length, requests: [], ...importEntry }
  })
  const subjectOf = Array.isArray(document) ? userOf : createSubjectReader(documentEntries)
  requireOneSubject(
    entries.flatMap(({ at, requests }, i) => {
      const subject = requests.length > 0 ? subjectOf(documentEntries[i]) : undefined
      return subject === undefined ? [] : [[at, subject] as const]
    }),
  )
  yield* entries
}

/** The user of a data point. */
const userOf = ({ header }: JsonObject): string | undefined => nonEmptyText(memberAt(header, 'user_id'))

type PartialEntry = Partial<ImportEntry>

const createMeasurementEntry = (body: JsonObject): PartialEntry => ({
  requests: [{ measurement: definedMembers(body) }],
})
const createResourceEntry = (
  resourceName: Extract<ImportRequest, { resource: string }>['resource'],
  body: JsonObject,
): PartialEntry => ({
  requests: [{ resource: resourceName, body: definedMembers(body) }],
})

/** Kinds whose bodies can be read, by schema name. */
const OMH_KINDS = new Map(
  MEASUREMENT_KINDS.flatMap(({ path, omh }) =>
    omh?.parse ? [[omh.schema.name, { path, omh, parse: omh.parse }] as const] : [],
  ),
)

function fromDataPoint({ header, body: json }: JsonObject): PartialEntry {
  const name = nonEmptyText(memberAt(header, 'schema_id', 'name'))
  const kind = OMH_KINDS.get(name ?? '')
  if (!kind) return { skipped: `schema ${name ?? 'unknown'}` }
  const body = isJsonObject(json) ? json : {}
  const statistic = body.descriptive_statistic
  if (statistic !== undefined) return { skipped: `descriptive statistic ${statistic}` }
  const foreign = kind.omh.findForeignMember?.(body)
  if (foreign !== undefined) return { skipped: `${name} with ${foreign} ${body[foreign]}` }
  const source = memberAt(header, 'modality') ?? memberAt(header, 'acquisition_provenance', 'modality')
  return createMeasurementEntry({ source, kind: kind.path, ...kind.parse(body) })
}

/** Codes of a blood pressure panel: current and former LOINC, and SNOMED CT. */
const BLOOD_PRESSURE_CODES = ['85354-9', '55284-4', '75367002']
const BMI_CODES = codesOfQuantity(bodyMassIndex)

function codesOfQuantity({ codes: { loinc, loincByUnit = {}, snomed } }: Quantity): string[] {
  return [loinc, ...Object.values(loincByUnit), snomed]
}

/** Kinds by the code of their only quantity. */
const QUANTITIES_BY_CODE = new Map(
  MEASUREMENT_KINDS.flatMap(({ path, quantities }) => {
    const [[field, quantity] = [], ...more] = Object.entries(quantities)
    return field === undefined || !quantity || more.length > 0
      ? []
      : codesOfQuantity(quantity).map((code) => [code, { kind: path, field }] as const)
  }),
)

const ENTERED_IN_ERROR = 'entered-in-error'

function fromResource(one: unknown): PartialEntry {
  if (!isJsonObject(one)) return { fault: 'contains no resource' }
  if (one.status === ENTERED_IN_ERROR || codesOfConcept(one.verificationStatus).includes(ENTERED_IN_ERROR))
    return { skipped: `${one.resourceType} with the status ${ENTERED_IN_ERROR}` }
  switch (one.resourceType) {
    case 'Observation':
      return fromObservation(one)
    case 'Condition':
      return createResourceEntry('diagnosis', fromCondition(one))
    case 'AllergyIntolerance': {
      const reaction = fromAllergyIntolerance(one)
      return reaction.substance
        ? createResourceEntry('adversereaction', reaction)
        : { fault: 'has no substance' }
    }
    case 'MedicationStatement':
      return createResourceEntry('medication', fromMedicationStatement(one))
    case 'Immunization':
      return createResourceEntry('immunisation', fromImmunization(one))
    case 'Device':
      return createResourceEntry('device', fromDevice(one))
    default:
      return { skipped: `resource ${nonEmptyText(one.resourceType) ?? 'without a type'}` }
  }
}

const codesOfConcept = (concept: unknown): string[] =>
  objectsIn(memberAt(concept, 'coding')).map(({ code }) => String(code))

/** The systems of the codes that the service knows; others may use the same codes for something else. */
const MEASUREMENT_CODE_SYSTEMS: readonly unknown[] = [undefined, 'http://loinc.org', 'http://snomed.info/sct']

const measurementCodesOf = (concept: unknown): string[] =>
  objectsIn(memberAt(concept, 'coding'))
    .filter(({ system }) => MEASUREMENT_CODE_SYSTEMS.includes(system))
    .map(({ code }) => String(code))

const toQuantityFields = (quantity: unknown, field: string): JsonObject => {
  const { value, code, unit } = (quantity ?? {}) as JsonObject
  return { [field]: value, [`${field}Unit`]: code ?? unit }
}

function fromObservation(one: JsonObject): PartialEntry {
  if (['cancelled', 'registered'].includes(String(one.status)))
    return { skipped: `Observation with the status ${one.status}` }
  const inexact = [one, ...objectsIn(one.component)].find(({ valueQuantity }) =>
    nonEmptyText(memberAt(valueQuantity, 'comparator')),
  )
  if (inexact) {
    const { comparator, value } = inexact.valueQuantity as JsonObject
    return { fault: `has no exact value: ${comparator} ${value}` }
  }
  const codes = measurementCodesOf(one.code)
  const when = one.effectiveDateTime ?? memberAt(one, 'effectivePeriod', 'start') ?? one.effectiveInstant
  const at = {
    timestamp: when,
    deviceId: memberAt(one, 'device', 'reference'),
    comment: joinNotes(one),
  }
  if (codes.some((code) => BLOOD_PRESSURE_CODES.includes(code))) {
    const componentOf = (quantity: Quantity) =>
      objectsIn(one.component).find(({ code }) =>
        measurementCodesOf(code).some((measurementCode) =>
          codesOfQuantity(quantity).includes(measurementCode),
        ),
      )?.valueQuantity
    const values = {
      ...toQuantityFields(componentOf(systolic), 'systolic'),
      ...toQuantityFields(componentOf(diastolic), 'diastolic'),
    }
    return createMeasurementEntry({ kind: 'bloodpressure', ...at, ...values })
  }
  if (codes.some((code) => BMI_CODES.includes(code))) {
    const { bmi, bmiUnit = bodyMassIndex.unit } = toQuantityFields(one.valueQuantity, 'bmi')
    return isUnitOf(bodyMassIndex.kind, String(bmiUnit))
      ? createMeasurementEntry({ kind: 'bmi', ...at, bmi })
      : { fault: `has a BMI in ${bmiUnit} instead of ${bodyMassIndex.unit}` }
  }
  const measuredQuantity = codes.map((code) => QUANTITIES_BY_CODE.get(code)).find((quantity) => quantity)
  if (!measuredQuantity) return { skipped: `Observation ${codesOfConcept(one.code)[0] ?? 'without a code'}` }
  return createMeasurementEntry({
    kind: measuredQuantity.kind,
    ...at,
    ...toQuantityFields(one.valueQuantity, measuredQuantity.field),
  })
}

/** Name, and the first code that has a system. */
const toCodedName = (concept: unknown): JsonObject => {
  const codings = objectsIn(memberAt(concept, 'coding'))
  const name = [memberAt(concept, 'text'), ...codings.map(({ display }) => display)].find(nonEmptyText)
  const coding = codings.find(({ system, code }) => nonEmptyText(system) && nonEmptyText(code))
  return { name, code: coding && { system: coding.system, code: coding.code } }
}

const joinNotes = (one: JsonObject): string | undefined =>
  objectsIn(one.note)
    .flatMap(({ text }) => nonEmptyText(text) ?? [])
    .join('\n') || undefined

const toDay = (value: unknown): string | undefined => nonEmptyText(value)?.slice(0, 10)

/** Whether a FHIR dateTime has a month or year only. */
const isPartialDate = (value: unknown): boolean =>
  /^\d{4}(-(0[1-9]|1[0-2]))?$/.test(nonEmptyText(value) ?? '')

/** Imprecise start or end in place of a day: `childhood`, or an age. */
const toImpreciseTime = (one: JsonObject, name: string): string | undefined => {
  const { value, unit, code } = (one[`${name}Age`] ?? {}) as JsonObject
  return nonEmptyText(one[`${name}String`]) ?? (value === undefined ? undefined : `${value} ${unit ?? code}`)
}

/**
 * Returns the days and a comment. An imprecise date is not converted to a day: the comment keeps it in a line
 * `onset: 2010`.
 */
function withDays(days: JsonObject, remark: string | undefined, loose: JsonObject = {}): JsonObject {
  const dayEntries = Object.entries(definedMembers(days))
  const dates = dayEntries.flatMap(([name, value]) => (isPartialDate(value) ? [] : [[name, toDay(value)]]))
  const partial = [
    ...dayEntries.filter(([, value]) => isPartialDate(value)),
    ...Object.entries(definedMembers(loose)),
  ]
  const lines = [remark ?? [], ...partial.map(([name, value]) => `${name}: ${value}`)].flat()
  return { ...Object.fromEntries(dates), comment: lines.join('\n') || undefined }
}

/** SNOMED CT codes of severities, which FHIR prefers. */
const SEVERITIES: Readonly<Record<string, string>> = {
  255604002: 'mild',
  6736007: 'moderate',
  24484000: 'severe',
}

const fromCondition = (one: JsonObject): JsonObject => ({
  ...toCodedName(one.code),
  ...withDays(
    {
      onset: one.onsetDateTime ?? memberAt(one, 'onsetPeriod', 'start'),
      recognised: one.recordedDate,
      resolved: one.abatementDateTime ?? memberAt(one, 'abatementPeriod', 'end'),
    },
    joinNotes(one),
    { onset: toImpreciseTime(one, 'onset'), resolved: toImpreciseTime(one, 'abatement') },
  ),
  severity: codesOfConcept(one.severity)
    .map((code) => SEVERITIES[code])
    .find((severity) => severity),
  status: codesOfConcept(one.clinicalStatus)[0],
  certainty: codesOfConcept(one.verificationStatus)[0],
  bodySite: toCodedName(memberAt(one, 'bodySite', 0)).name,
})

function fromAllergyIntolerance(one: JsonObject): JsonObject {
  const { name, code } = toCodedName(one.code)
  const reactions = objectsIn(one.reaction).flatMap(({ manifestation, severity, onset }) =>
    objectsIn(manifestation).map((concept) =>
      definedMembers({ manifestation: toCodedName(concept).name, severity, onset: toDay(onset) }),
    ),
  )
  return {
    substance: name,
    code,
    reactions,
    status: codesOfConcept(one.clinicalStatus)[0],
    verification: codesOfConcept(one.verificationStatus)[0],
    criticality: one.criticality,
    category: memberAt(one, 'category', 0),
    ...withDays(
      {
        firstOnset: one.onsetDateTime ?? memberAt(one, 'onsetPeriod', 'start'),
        lastOnset: one.lastOccurrence,
      },
      joinNotes(one),
      { firstOnset: toImpreciseTime(one, 'onset') },
    ),
  }
}

const fromDevice = (one: JsonObject): JsonObject => ({
  name: memberAt(one, 'deviceName', 0, 'name') ?? toCodedName(one.type).name ?? one.distinctIdentifier,
  type: toCodedName(one.type).name,
  manufacturer: one.manufacturer,
  model: one.modelNumber,
  serial: one.serialNumber,
  udi: memberAt(one, 'udiCarrier', 0, 'carrierHRF') ?? memberAt(one, 'udiCarrier', 0, 'deviceIdentifier'),
  softwareVersion: memberAt(one, 'version', 0, 'value'),
  ...withDays({ expiry: one.expirationDate }, joinNotes(one)),
})

/** The text of a concept, or of its first code. */
const toText = (concept: unknown): unknown => toCodedName(concept).name

const INFORMATION_SOURCES: Readonly<Record<string, string>> = {
  Patient: 'patient',
  RelatedPerson: 'related-person',
  Practitioner: 'practitioner',
  PractitionerRole: 'practitioner',
}

const toInformationSource = (source: unknown): string | undefined => {
  const type = memberAt(source, 'type') ?? String(memberAt(source, 'reference')).split('/').at(-2)
  return INFORMATION_SOURCES[String(type)]
}

function fromMedicationStatement(one: JsonObject): JsonObject {
  const dosages = objectsIn(one.dosage)
  const { name, code } = toCodedName(one.medicationCodeableConcept)
  return {
    name: name ?? memberAt(one, 'medicationReference', 'display'),
    code,
    status: one.status,
    statusReason: toText(memberAt(one, 'statusReason', 0)),
    dosage: dosages.flatMap(({ text }) => nonEmptyText(text) ?? []).join('\n') || undefined,
    asNeeded: dosages[0]?.asNeededBoolean,
    route: toText(dosages[0]?.route),
    reason: toText(memberAt(one, 'reasonCode', 0)),
    informationSource: toInformationSource(one.informationSource),
    ...withDays(
      {
        start: one.effectiveDateTime ?? memberAt(one, 'effectivePeriod', 'start'),
        end: memberAt(one, 'effectivePeriod', 'end'),
        asserted: one.dateAsserted,
      },
      joinNotes(one),
    ),
  }
}

function fromImmunization(one: JsonObject): JsonObject {
  const { name: vaccine, code } = toCodedName(one.vaccineCode)
  const [protocol] = objectsIn(one.protocolApplied)
  const [performer] = objectsIn(one.performer)
  return {
    vaccine,
    code,
    status: one.status,
    statusReason: toText(one.statusReason),
    targetDisease: toText(memberAt(protocol, 'targetDisease', 0)),
    doseNumber: protocol?.doseNumberPositiveInt,
    seriesDoses: protocol?.seriesDosesPositiveInt,
    lotNumber: one.lotNumber,
    manufacturer: memberAt(one, 'manufacturer', 'display'),
    site: toText(one.site),
    route: toText(one.route),
    performer: memberAt(performer, 'actor', 'display'),
    primarySource: one.primarySource,
    reportOrigin: codesOfConcept(one.reportOrigin)[0],
    ...withDays({ date: one.occurrenceDateTime, expiry: one.expirationDate }, joinNotes(one), {
      date: nonEmptyText(one.occurrenceString),
    }),
  }
}
