import type { TSchema } from '@sinclair/typebox'
import { type ClassKind, RECORDED_AT_INDEX, type Values } from '../../records/ehr-records/kind.ts'
import { createParseFormat, type ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { Coding } from '../../schemas/coding.ts'
import type { EvaluationElement, EvaluationForm } from '../../schemas/openehr/evaluation-form.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { codedText } from '../rm/values/coded-text.ts'
import { dvDateTime } from '../versions/original-version.ts'
import { compositionHead, compositionOf, dvText, entryOf, namedElement, treeOf } from './composition-parts.ts'
import type { CompositionHead, CompositionView } from './composition-view.ts'
import { EXACTLY_ONE, elementXml, entryXml, objectXml, templateXml, treeXml } from './template-xml.ts'

const TREE_NODE = 'at0001'
const RECORDED_AT_FIELD = '_created_at'

/** The node of the nth element; at0000 is the evaluation, and at0001 the tree. */
const nodeIdOf = (index: number): string => `at${String(index + 2).padStart(4, '0')}`

/** The records of a kind as encounters with one evaluation, which start when they were recorded. */
export function recordView(kind: ClassKind, form: EvaluationForm): CompositionView {
  const { concept, elements } = form
  const archetype = `openEHR-EHR-EVALUATION.hrs_${concept}.v1`
  const head = compositionHead(concept, archetype, kind.noun)
  const typedElements = elements.map((one) => ({
    ...one,
    type: dataTypeOf(kind.fields[one.field] as TSchema),
  }))
  const { fromStored } = createParseFormat(kind.schema)
  return {
    kind,
    head,
    archetype,
    path: concept,
    startField: RECORDED_AT_FIELD,
    values: typedElements.flatMap(({ field, type }, index) =>
      type === 'DV_COUNT' ? [{ field, path: 'data/items', nodeId: nodeIdOf(index) }] : [],
    ),
    ehrIndex: { name: 'list_ofEhr', key: { ehrId: 1, [RECORDED_AT_FIELD]: -1, _id: -1 } },
    indexOf: (field) => (field === RECORDED_AT_FIELD ? RECORDED_AT_INDEX : undefined),
    toComposition(record) {
      const values: Values = fromStored(record)
      const valueElements = typedElements.flatMap((one, index) => {
        const value = values[one.field]
        if (value === undefined || value === null) return []
        return namedElement(nodeIdOf(index), one.name, toDataValue(one, value, values))
      })
      const entry = entryOf('EVALUATION', archetype, head.name, treeOf(TREE_NODE, valueElements))
      return compositionOf(head, record, dvDateTime(record[RECORDED_AT_FIELD]), entry)
    },
    example: exampleOf(typedElements),
    createTemplate: () => templateXml(head, evaluationXml(archetype, head, typedElements)),
  }
}

type DataType = 'DV_TEXT' | 'DV_DATE' | 'DV_BOOLEAN' | 'DV_COUNT'
type TypedElement = EvaluationElement & { type: DataType }

function dataTypeOf({ type, format }: TSchema): DataType {
  if (format === 'date') return 'DV_DATE'
  if (type === 'boolean') return 'DV_BOOLEAN'
  return type === 'integer' ? 'DV_COUNT' : 'DV_TEXT'
}

function toDataValue({ type, code }: TypedElement, value: unknown, values: Values): RmObject {
  if (type === 'DV_COUNT') return { _type: type, magnitude: value }
  if (type !== 'DV_TEXT') return { _type: type, value }
  const coding = code === undefined ? undefined : (values[code] as Coding | undefined)
  if (!coding) return dvText(String(value))
  return codedText(String(value), coding.code, coding.system)
}

const EXAMPLES = { DV_TEXT: 'Example', DV_DATE: new Date(0), DV_BOOLEAN: true, DV_COUNT: 1 } as const

function exampleOf(elements: readonly TypedElement[]): ParseDocument {
  const time = new Date(0)
  const meta = { _id: 'example', version: 1, _created_at: time, _updated_at: time, _rperm: [], _wperm: [] }
  return { ...meta, ...Object.fromEntries(elements.map(({ field, type }) => [field, EXAMPLES[type]])) }
}

/** A text that may have a code is one of two data types. */
const evaluationXml = (
  archetype: string,
  { name }: CompositionHead,
  elements: readonly TypedElement[],
): string =>
  entryXml(
    'EVALUATION',
    archetype,
    treeXml(
      TREE_NODE,
      elements.map(({ type, code }, index) => {
        const types = code === undefined ? [type] : [type, 'DV_CODED_TEXT']
        return elementXml(nodeIdOf(index), ...types.map((one) => objectXml(one, '', EXACTLY_ONE)))
      }),
    ),
    [
      ['at0000', name],
      [TREE_NODE, 'Data'],
      ...elements.map((one, index): [string, string] => [nodeIdOf(index), one.name]),
    ],
  )
