import { readFile, stat } from 'node:fs/promises'
import { MEASUREMENTS } from '../../records/kinds.ts'
import { bodyMassIndex, diastolic, systolic } from '../../records/measurements/quantities/quantities.ts'
import type { Quantity } from '../../records/measurements/quantities/quantity.ts'
import { isUnitOf } from '../../records/measurements/quantities/units.ts'
import { jsonIn } from '../../schemas/json-file.ts'
import { type Ask, type Entry, given, isJson, type Json, member, textOf } from './entry.ts'

/** A JSON document is read as a whole. */
const LARGEST = 200 * 1024 * 1024

/** A FHIR R4 bundle, or an array of Open mHealth data points. @throws Error for what is neither */
export async function* documentEntries(file: string): AsyncGenerator<Entry> {
  if ((await stat(file)).size > LARGEST) throw new Error('A JSON file can have at most 200 MB; split it.')
  let document: unknown
  try {
    document = jsonIn(await readFile(file))
  } catch (error) {
    throw new Error(`The file is not valid JSON: ${(error as Error).message}`)
  }
  const bundle = isJson(document) && document.resourceType === 'Bundle' ? document.entry : undefined
  const all = Array.isArray(document) ? document : Array.isArray(bundle) ? bundle : undefined
  if (!all) throw new Error('The file is neither a FHIR R4 bundle nor an array of Open mHealth data points.')
  const read = Array.isArray(document) ? ofDataPoint : ({ resource }: Json) => ofResource(resource)
  for (const [i, one] of all.entries()) {
    const found = isJson(one) ? read(one) : { fault: 'is no object' }
    yield { at: `entry ${i + 1}`, read: (i + 1) / all.length, asks: [], ...found }
  }
}

type Found = Partial<Entry>

const measurement = (body: Json): Found => ({ asks: [{ measurement: given(body) }] })
const resource = (of: Extract<Ask, { resource: string }>['resource'], body: Json): Found => ({
  asks: [{ resource: of, body: given(body) }],
})

/** What reads a body, by the name of its schema. */
const bodies = new Map(
  MEASUREMENTS.flatMap(({ path, omh }) => {
    const read = omh?.read
    return omh && read ? [[omh.schema.name, (body: Json) => ({ kind: path, ...read(body) })] as const] : []
  }),
)

function ofDataPoint({ header, body }: Json): Found {
  const name = textOf(member(header, 'schema_id', 'name'))
  const read = bodies.get(name ?? '')
  if (!read) return { skipped: `schema ${name ?? 'unknown'}` }
  const statistic = member(body, 'descriptive_statistic')
  if (statistic !== undefined) return { skipped: `descriptive statistic ${statistic}` }
  const source = member(header, 'modality') ?? member(header, 'acquisition_provenance', 'modality')
  return measurement({ source, ...read(isJson(body) ? body : {}) })
}

/** The codes of blood pressures as a whole: LOINC's of today and the one before it, and SNOMED CT's. */
const PRESSURE = ['85354-9', '55284-4', '75367002']
const BMI = codesIn(bodyMassIndex)
/** Glucose has a code for each unit. */
const OTHER_CODES: Readonly<Record<string, string>> = { '2339-0': '15074-8' }

function codesIn({ codes: { loinc, snomed } }: Quantity): string[] {
  return [loinc, snomed]
}

/** What a code stands for: the kind whose one quantity has it. */
const byCode = new Map(
  MEASUREMENTS.flatMap(({ path, quantities }) => {
    const [[field, quantity] = [], ...more] = Object.entries(quantities)
    return field === undefined || !quantity || more.length > 0
      ? []
      : codesIn(quantity).map((code) => [code, { kind: path, field }] as const)
  }),
)

function ofResource(one: unknown): Found {
  if (!isJson(one)) return { fault: 'holds no resource' }
  switch (one.resourceType) {
    case 'Observation':
      return ofObservation(one)
    case 'Condition':
      return resource('diagnosis', conditionOf(one))
    case 'AllergyIntolerance': {
      const reaction = reactionOf(one)
      return reaction.substance ? resource('adversereaction', reaction) : { fault: 'names no substance' }
    }
    case 'Device':
      return resource('device', deviceOf(one))
    default:
      return { skipped: `resource ${textOf(one.resourceType) ?? 'without a type'}` }
  }
}

/** The objects of a list that somebody else wrote. */
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])

const codesOf = (concept: unknown): string[] =>
  listOf(member(concept, 'coding')).map(({ code }) => String(code))

const measured = (quantity: unknown, field: string): Json => {
  const { value, code, unit } = (quantity ?? {}) as Json
  return { [field]: value, [`${field}Unit`]: code ?? unit }
}

function ofObservation(one: Json): Found {
  if (['entered-in-error', 'cancelled', 'registered'].includes(String(one.status)))
    return { skipped: `Observation that is ${one.status}` }
  const inexact = [one, ...listOf(one.component)].find(({ valueQuantity }) =>
    textOf(member(valueQuantity, 'comparator')),
  )
  if (inexact) {
    const { comparator, value } = inexact.valueQuantity as Json
    return { fault: `holds no exact value: ${comparator} ${value}` }
  }
  const codes = codesOf(one.code)
  const when = one.effectiveDateTime ?? member(one, 'effectivePeriod', 'start') ?? one.effectiveInstant
  const at = {
    timestamp: when,
    deviceId: member(one, 'device', 'reference'),
    comment: notesOf(one),
  }
  if (codes.some((code) => PRESSURE.includes(code))) {
    const componentOf = (quantity: Quantity) =>
      listOf(one.component).find(({ code }) =>
        codesOf(code).some((found) => codesIn(quantity).includes(found)),
      )?.valueQuantity
    const values = {
      ...measured(componentOf(systolic), 'systolic'),
      ...measured(componentOf(diastolic), 'diastolic'),
    }
    return measurement({ kind: 'bloodpressure', ...at, ...values })
  }
  if (codes.some((code) => BMI.includes(code))) {
    const { bmi, bmiUnit = bodyMassIndex.unit } = measured(one.valueQuantity, 'bmi')
    return isUnitOf(bodyMassIndex.kind, String(bmiUnit))
      ? measurement({ kind: 'bmi', ...at, bmi })
      : { fault: `holds a BMI in ${bmiUnit}, not in ${bodyMassIndex.unit}` }
  }
  const known = codes.map((code) => byCode.get(OTHER_CODES[code] ?? code)).find((found) => found)
  if (!known) return { skipped: `Observation ${codes[0] ?? 'without a code'}` }
  return measurement({ kind: known.kind, ...at, ...measured(one.valueQuantity, known.field) })
}

/** The name, and the first code that says of which system it is. */
const codeOf = (concept: unknown): Json => {
  const codings = listOf(member(concept, 'coding'))
  const name = [member(concept, 'text'), ...codings.map(({ display }) => display)].find(textOf)
  const coding = codings.find(({ system, code }) => textOf(system) && textOf(code))
  return { name, code: coding && { system: coding.system, code: coding.code } }
}

const notesOf = (one: Json): string | undefined =>
  listOf(one.note)
    .flatMap(({ text }) => textOf(text) ?? [])
    .join('\n') || undefined

const dayOf = (value: unknown): string | undefined => textOf(value)?.slice(0, 10)

/** A FHIR dateTime that is known to the month or to the year. */
const isPartial = (value: unknown): boolean => /^\d{4}(-(0[1-9]|1[0-2]))?$/.test(textOf(value) ?? '')

/** What a sender knows of when it began or ended in place of a day: `childhood`, or an age. */
const loosely = (one: Json, name: string): string | undefined => {
  const { value, unit, code } = (one[`${name}Age`] ?? {}) as Json
  return textOf(one[`${name}String`]) ?? (value === undefined ? undefined : `${value} ${unit ?? code}`)
}

/**
 * The days, and a remark. What the sender knows to the month or the year, or in words, is no day, and none is made up for
 * it: the remark says it, in a line `onset: 2010`.
 */
function withDays(days: Json, remark: string | undefined, loose: Json = {}): Json {
  const known = Object.entries(given(days))
  const dates = known.flatMap(([name, value]) => (isPartial(value) ? [] : [[name, dayOf(value)]]))
  const partial = [...known.filter(([, value]) => isPartial(value)), ...Object.entries(given(loose))]
  const lines = [remark ?? [], ...partial.map(([name, value]) => `${name}: ${value}`)].flat()
  return { ...Object.fromEntries(dates), comment: lines.join('\n') || undefined }
}

/** SNOMED CT's, as FHIR prefers them. */
const SEVERITIES: Readonly<Record<string, string>> = {
  255604002: 'mild',
  6736007: 'moderate',
  24484000: 'severe',
}

const conditionOf = (one: Json): Json => ({
  ...codeOf(one.code),
  ...withDays(
    {
      onset: one.onsetDateTime ?? member(one, 'onsetPeriod', 'start'),
      recognised: one.recordedDate,
      resolved: one.abatementDateTime ?? member(one, 'abatementPeriod', 'end'),
    },
    notesOf(one),
    { onset: loosely(one, 'onset'), resolved: loosely(one, 'abatement') },
  ),
  severity: codesOf(one.severity)
    .map((code) => SEVERITIES[code])
    .find((severity) => severity),
  status: codesOf(one.clinicalStatus)[0],
  certainty: codesOf(one.verificationStatus)[0],
  bodySite: codeOf(member(one, 'bodySite', 0)).name,
})

function reactionOf(one: Json): Json {
  const { name, code } = codeOf(one.code)
  const reactions = listOf(one.reaction).flatMap(({ manifestation, severity, onset }) =>
    listOf(manifestation).map((concept) =>
      given({ manifestation: codeOf(concept).name, severity, onset: dayOf(onset) }),
    ),
  )
  return {
    ...{ substance: name, code, reactions },
    status: codesOf(one.clinicalStatus)[0],
    verification: codesOf(one.verificationStatus)[0],
    criticality: one.criticality,
    category: member(one, 'category', 0),
    ...withDays(
      {
        firstOnset: one.onsetDateTime ?? member(one, 'onsetPeriod', 'start'),
        lastOnset: one.lastOccurrence,
      },
      notesOf(one),
      { firstOnset: loosely(one, 'onset') },
    ),
  }
}

const deviceOf = (one: Json): Json => ({
  name: member(one, 'deviceName', 0, 'name') ?? codeOf(one.type).name ?? one.distinctIdentifier,
  type: codeOf(one.type).name,
  manufacturer: one.manufacturer,
  model: one.modelNumber,
  serial: one.serialNumber,
  udi: member(one, 'udiCarrier', 0, 'carrierHRF') ?? member(one, 'udiCarrier', 0, 'deviceIdentifier'),
  softwareVersion: member(one, 'version', 0, 'value'),
  ...withDays({ expiry: one.expirationDate }, notesOf(one)),
})
