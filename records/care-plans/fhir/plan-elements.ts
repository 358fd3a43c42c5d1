import { elementAt, elementWith, type FhirJson, joinElements } from '../../fhir/element-paths.ts'
import { extensionElement, ownUri } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'

const plannedMark = (valueBoolean: boolean) => ({ extension: [{ url: ownUri('planned'), valueBoolean }] })

/** `period.start` -> `period._start`: the place of extensions of a date. */
const extensionPlaceOf = (path: string): string => path.replace(/(?<![^.])([^.]+)$/, '_$1')

/** What the mark of a date says; undefined: it has none. */
function readPlannedMark(resource: FhirJson, path: string): unknown {
  const extensions = elementAt(resource, `${extensionPlaceOf(path)}.extension`)
  if (!Array.isArray(extensions)) return undefined
  return extensions.find((one) => one?.url === ownUri('planned'))?.valueBoolean
}

/**
 * The actual date at a path, or the planned one as long as there is none; then a mark says so. Beside the actual date, an
 * extension keeps the planned one.
 * @param isPlanned whether a date without a mark is the planned one; then the actual date has a mark, too
 */
export function plannedDateElement(
  fields: { actual: string; planned: string },
  path: string,
  isPlanned?: (resource: FhirJson) => boolean,
): FhirElement {
  const plannedExtension = extensionElement(
    fields.planned,
    ownUri(`planned-${path.split('.').at(-1)}`),
    'valueDate',
  )
  return {
    paths: { [fields.actual]: path, [fields.planned]: path },
    show: (record) => {
      const actual = record[fields.actual]
      const planned = record[fields.planned]
      if (actual === undefined)
        return planned === undefined
          ? {}
          : joinElements([elementWith(path, planned), elementWith(extensionPlaceOf(path), plannedMark(true))])
      const mark = isPlanned ? elementWith(extensionPlaceOf(path), plannedMark(false)) : {}
      return joinElements([elementWith(path, actual), mark, plannedExtension.show(record)])
    },
    read: (resource) => {
      const date = elementAt(resource, path)
      if (readPlannedMark(resource, path) ?? isPlanned?.(resource))
        return { [fields.planned]: date, [fields.actual]: undefined }
      return { [fields.actual]: date, ...plannedExtension.read(resource) }
    },
  }
}

const END_BEFORE_START = ownUri('end-before-start')

/** The end of a period. R4 allows none before the start (per-1), so that an extension keeps such an end. */
export const periodEndElement = (start: FhirElement, end: FhirElement): FhirElement => ({
  paths: end.paths,
  show: (record) => {
    const { period, extension = [], ...rest } = end.show(record)
    const from = elementAt(start.show(record), 'period.start')
    const to = elementAt(period, 'end')
    if (typeof from !== 'string' || typeof to !== 'string' || from <= to) return end.show(record)
    return {
      ...rest,
      extension: [...(extension as object[]), { url: END_BEFORE_START, valuePeriod: period }],
    }
  },
  read: (resource) => {
    const extensions = Array.isArray(resource.extension) ? resource.extension : []
    const period = extensions.find((one) => one?.url === END_BEFORE_START)?.valuePeriod
    return end.read(period === undefined ? resource : { ...resource, period })
  },
})

/** Metadata of a record, which clients cannot set. */
export const metadataElement = (field: 'createdAt' | 'updatedAt', path: string): FhirElement => ({
  paths: {},
  show: (record) => (record[field] ? elementWith(path, record[field]) : {}),
  read: () => ({}),
})
