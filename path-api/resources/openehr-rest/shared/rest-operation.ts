import { Type } from '@sinclair/typebox'
import { MAX_COMPOSITION_DEPTH } from '../../../../openehr/compositions/read-composition.ts'
import { readXml } from '../../../../openehr/formats/xml.ts'
import { xmlToJson } from '../../../../openehr/rm/canonical-xml.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import { documentRmClass } from '../../../../schemas/openehr/rm-schema.ts'
import { isInCalendar } from '../../../../schemas/validation/calendar.ts'
import { createRecordIdSchema } from '../../../operation/path-parameters.ts'
import { describedBody, type RawContent } from '../../../reply/body-media.ts'
import { fromRestEhrId } from '../shared/ehr-ids.ts'

export const REST_PATH = '/openehr/v1'
export const EHR_PATH = `${REST_PATH}/ehr/{ehrId}` as const

/** The common part of all operations of the openEHR REST API. */
export const restOperation = {
  source: 'ITS-REST 1.0.3',
  extra: true,
  api: 'openehr',
} as const

const ehrIdParameter = createRecordIdSchema('EHR id, a UUID', '6865616c-7468-8ec0-8bc3-d1c8b3a5f0e7')

export const ehrParams = { ehrId: ehrIdParameter }

/** The same for operations on an EHR. */
export const ehrOperation = {
  ...restOperation,
  params: ehrParams,
  mapParams: (params: Record<string, string>) => ({ ...params, ehrId: fromRestEhrId(params.ehrId ?? '') }),
} as const

export const objectUidField = (noun: string) =>
  createRecordIdSchema(`Uid of the versioned ${noun}`, '8849182c-82ad-4088-a07f-48ead4180515')

const VERSION_UID_PATTERN = '[A-Za-z0-9_-]{1,64}::[A-Za-z0-9_.-]{1,64}::[0-9]{1,9}'

export const restVersionUidField = Type.String({
  pattern: `^${VERSION_UID_PATTERN}$`,
  description: 'Uid of a version',
  examples: ['8849182c-82ad-4088-a07f-48ead4180515::hrs.local::1'],
})

/** A version at a time; empty means the latest one. */
export const atTimeQuery = {
  version_at_time: Type.Optional(
    Type.String({
      pattern:
        '^(\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d([.,]\\d{1,9})?)?(Z|[+-]\\d\\d(:?\\d\\d)?)?)?)?$',
      description: 'Time: selects the version that was the latest then. Without a zone it is in UTC',
      examples: ['2026-03-01T08:30:00Z'],
    }),
  ),
}

/** @throws InvalidInput for a time that does not exist */
export function parseVersionTime(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  const hasZone = /(Z|T[^T]*[+-]\d\d(:?\d\d)?)$/.test(text)
  // Date reads no zone that consists of hours only.
  const time = text.replace(',', '.').replace(/(T[^T]*[+-]\d\d)$/, '$1:00')
  const at = new Date(time + (hasZone || !text.includes('T') ? '' : 'Z'))
  if (isInCalendar(at.getTime())) return at.toISOString()
  const violation = { path: 'version_at_time', code: 'date-time', message: 'must be an existing time' }
  throw new ServiceError('InvalidInput', { violations: [violation] })
}

/** Representations of an object of the reference model. */
const FORMATS = ['application/json', 'application/xml'] as const

/** A body that is an object of the reference model, in canonical JSON or XML. */
export const rmBody = (rmType: string, ...moreFormats: string[]) =>
  describedBody(documentRmClass(rmType), ...FORMATS, 'text/xml', ...moreFormats)

/** A reply that is an object of the reference model. */
export const rmReply = (rmType: string, ...moreFormats: string[]) =>
  describedBody(documentRmClass(rmType), ...FORMATS, ...moreFormats)

export const rmBodyLimits = { bytes: 4 * 1024 * 1024, depth: MAX_COMPOSITION_DEPTH, values: 200_000 }

/** The canonical JSON of a body in either format; undefined if there is none. @throws MalformedRequest */
export function sentJson({ type, bytes, json }: RawContent, rmType: string): unknown {
  if (bytes.length === 0 || json === null) return undefined
  if (!type.endsWith('xml')) return json
  return { _type: rmType, ...(xmlToJson(readXml(bytes, MAX_COMPOSITION_DEPTH), rmType) as object) }
}
