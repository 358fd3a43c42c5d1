import { findOpenehrCode, openehrRubric } from '../../../schemas/openehr/openehr-codes.ts'
import { findCodeTerm, type ObjectConstraint } from '../../opt/constraints.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import { codePhrase, terminologyId } from '../../rm/values/coded-text.ts'
import type { SimpleNode } from '../simple-tree.ts'
import type { ExpectedValue, Reading } from './expected-value.ts'
import { terminologyOf } from './value-parts.ts'

/** Adds what follows from the template, and what the simplified formats let out. */
export function completeValue(
  object: RmObject,
  node: SimpleNode,
  { attribute, constraint }: ExpectedValue,
  { currentTime }: Reading,
): void {
  switch (object._type) {
    case 'DV_CODED_TEXT':
      completeCodedText(object, attribute, constraint)
      break
    case 'CODE_PHRASE':
      object.terminology_id ??= terminologyId(terminologyOf(attribute) ?? 'local')
      break
    case 'DV_QUANTITY':
      completeUnits(object, constraint)
      break
    case 'DV_ORDINAL':
    case 'DV_SCALE':
      completeOrdinal(object, constraint)
      break
    case 'DV_PROPORTION':
      // Some programs write the quotient beside its parts.
      if (object.numerator !== undefined) node.take('')
      object.type ??= typeOfProportion(constraint)
      break
    case 'DV_INTERVAL':
      completeInterval(object)
      break
    case 'DV_PARSABLE':
      if (attribute === 'timing') object.formalism ??= 'timing'
      break
    case 'DV_DURATION':
      object.value ??= readDurationParts(node)
      break
    case 'PARTICIPATION':
      completeMode(object)
      break
    case 'DV_DATE':
    case 'DV_TIME':
    case 'DV_DATE_TIME':
      if (object.value === 'now') object.value = currentTimeAs(object._type, currentTime)
  }
}

/** Attributes with codes of openEHR's own terminology. */
const OPENEHR_ATTRIBUTES = new Set([
  'category',
  'setting',
  'null_flavour',
  'current_state',
  'transition',
  'math_function',
  'mode',
  'relationship',
  'purpose',
])

/** The codes that a template permits for a coded text. */
const codesOf = (constraint: ObjectConstraint | undefined) =>
  constraint?.attributes.find(({ name }) => name === 'defining_code')?.children[0]?.codes

/** The text of a code that a template permits, or of openEHR's terminology. */
function textOf(constraint: ObjectConstraint | undefined, terminology: string, code: string) {
  if (constraint) return findCodeTerm(constraint, { terminology, code })?.text
  return terminology === 'openehr' ? openehrRubric(code) : undefined
}

function completeCodedText(
  object: RmObject,
  attribute: string,
  constraint: ObjectConstraint | undefined,
): void {
  const codes = codesOf(constraint)
  const usual = codes?.terminology || (OPENEHR_ATTRIBUTES.has(attribute) ? 'openehr' : 'local')
  const definingCode = (object.defining_code ?? { _type: 'CODE_PHRASE' }) as RmObject
  const terminology = (definingCode.terminology_id as RmObject | undefined)?.value ?? usual
  const codeOrText = definingCode.code_string ?? object.value
  // A text in the place of a code.
  const codeWithText = [...(codes?.list ?? [])].find(
    (code) => textOf(constraint, String(terminology), code) === codeOrText,
  )
  const matchingCode = codes?.list.includes(String(definingCode.code_string)) ? undefined : codeWithText
  const code =
    matchingCode ??
    definingCode.code_string ??
    (usual === 'openehr' ? findOpenehrCode(String(codeOrText)) : undefined)
  const text = object.value ?? textOf(constraint, String(terminology), String(code)) ?? codeOrText
  if (text !== undefined) object.value = text
  if (code === undefined) return
  const { preferred_term } = definingCode
  object.defining_code = {
    ...codePhrase(String(terminology), String(code)),
    ...(preferred_term !== undefined && { preferred_term }),
  }
}

/** The units, if the template permits only one. */
function completeUnits(object: RmObject, constraint: ObjectConstraint | undefined): void {
  const [only, ...others] = constraint?.quantity?.list ?? []
  if (object.units === undefined && only && others.length === 0) object.units = only.units
}

function completeOrdinal(object: RmObject, constraint: ObjectConstraint | undefined): void {
  const symbol = (object.symbol ?? { _type: 'DV_CODED_TEXT' }) as RmObject
  const code = (symbol.defining_code as RmObject | undefined)?.code_string
  const ordinal = constraint?.ordinals?.find((one) => one.symbol.code === code)
  if (ordinal) {
    object.value ??= ordinal.value
    symbol.value ??= findCodeTerm(constraint as ObjectConstraint, ordinal.symbol)?.text
  }
  const defining = symbol.defining_code as RmObject | undefined
  if (defining) defining.terminology_id ??= terminologyId(ordinal?.symbol.terminology || 'local')
  object.symbol = symbol
}

/** The kind of a proportion, if the template permits only one. */
function typeOfProportion(constraint: ObjectConstraint | undefined): number | undefined {
  const type = constraint?.attributes.find(({ name }) => name === 'type')?.children[0]?.primitive
  return type?.type === 'number' && type.list?.length === 1 ? type.list[0] : undefined
}

function completeInterval(object: RmObject): void {
  for (const end of ['lower', 'upper']) {
    const isBound = object[end] !== undefined
    object[`${end}_included`] ??= isBound
    object[`${end}_unbounded`] ??= !isBound
  }
}

const DURATION_PARTS = [
  ...(['year', 'month', 'week', 'day'] as const),
  ...(['hour', 'minute', 'second'] as const),
] as const

/** `|hour: 2, |minute: 30` -> PT2H30M */
function readDurationParts(node: SimpleNode): string | undefined {
  const parts = DURATION_PARTS.map((name) => [name, node.take(name)] as const).filter(([, value]) => value)
  if (parts.length === 0) return undefined
  const letters = (names: readonly string[]): string =>
    parts
      .filter(([name]) => names.includes(name))
      .map(([name, value]) => `${value}${name.charAt(0).toUpperCase()}`)
      .join('')
  const time = letters(['hour', 'minute', 'second'])
  return `P${letters(['year', 'month', 'week', 'day'])}${time ? `T${time}` : ''}`
}

/** The code of a participation's mode, if it was named by its text, or the text for its code. */
function completeMode(object: RmObject): void {
  const mode = object.mode as RmObject | undefined
  if (mode === undefined || mode.defining_code !== undefined) return
  const code = findOpenehrCode(String(mode.value)) ?? String(mode.value)
  mode.value = openehrRubric(code) ?? mode.value
  mode.defining_code = codePhrase('openehr', code)
}

const currentTimeAs = (rmType: string, currentTime: string): string =>
  rmType === 'DV_DATE' ? currentTime.slice(0, 10) : rmType === 'DV_TIME' ? currentTime.slice(11) : currentTime
