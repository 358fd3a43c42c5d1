import { findOpenehrCode, openehrRubric } from '../../schemas/openehr/openehr-codes.ts'
import { isSubclassOf } from '../../schemas/openehr/rm-classes.ts'
import { findCodeTerm, labelOf, type Template } from '../opt/constraints.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { instantMsOf, parseDateTime } from '../rm/iso8601.ts'
import { codedText, codePhrase } from '../rm/values/coded-text.ts'
import type { FormStep } from './forms/form-node.ts'
import type { SimpleNode } from './simple-tree.ts'
import type { Reading } from './values/expected-value.ts'
import { readValue } from './values/read-value.ts'

/** The name of an object: from the template, with its code if it is one of several codes. */
export function defaultName({ constraint, name }: FormStep): RmObject {
  const nameConstraint = constraint?.attributes.find((attribute) => attribute.name === 'name')?.children[0]
  const codes = nameConstraint?.attributes.find((attribute) => attribute.name === 'defining_code')
    ?.children[0]?.codes
  const value = name ?? ((constraint && labelOf(constraint)) || constraint?.rmType)
  const code = codes?.list.find(
    (one) =>
      nameConstraint &&
      findCodeTerm(nameConstraint, { terminology: codes.terminology, code: one })?.text === value,
  )
  if (code === undefined) return { _type: 'DV_TEXT', value }
  return codedText(value, code, codes?.terminology || 'local')
}

const timeOf = (event: unknown): string | undefined => {
  const value = ((event as RmObject | undefined)?.time as RmObject | undefined)?.value
  return typeof value === 'string' ? value : undefined
}

const instantOf = (time: string): number => {
  const moment = parseDateTime(time)
  return moment ? instantMsOf(moment) : Number.POSITIVE_INFINITY
}

/** The time of the first event of a history. */
export function earliestTime({ events }: RmObject): string | undefined {
  const times = [events].flat().flatMap((event) => timeOf(event) ?? [])
  return times.reduce<string | undefined>(
    (first, time) => (first === undefined || instantOf(time) < instantOf(first) ? time : first),
    undefined,
  )
}

export const openehrText = (code: string): RmObject => codedText(openehrRubric(code), code)

const dateTime = (value: unknown): RmObject => ({ _type: 'DV_DATE_TIME', value })

/** The values of `ctx/`, which apply where the composition has none of its own. */
export class CompositionDefaults {
  readonly reading: Reading
  readonly #template: Template
  readonly #context: SimpleNode
  readonly #valuesByName = new Map<string, unknown>()

  constructor(template: Template, context: SimpleNode, currentTime: string) {
    this.#template = template
    this.#context = context
    const [idScheme, idNamespace] = ['id_scheme', 'id_namespace'].map((name) => this.#text(name))
    this.reading = { currentTime, idScheme, idNamespace }
  }

  /** Adds what an object lacks, once its members are complete. */
  complete(object: RmObject): void {
    const isA = (name: string): boolean => isSubclassOf(object._type, name)
    if (isA('COMPOSITION')) this.#completeComposition(object)
    else if (isA('EVENT_CONTEXT')) this.#completeContext(object)
    else if (isA('ENTRY')) this.#completeEntry(object)
    else if (isA('HISTORY'))
      object.origin ??= dateTime(this.#text('history_origin') ?? earliestTime(object) ?? this.#time)
    else if (isA('EVENT')) object.time ??= dateTime(this.#time)
    else if (isA('ACTIVITY')) this.#completeActivity(object)
    else if (isA('ISM_TRANSITION')) object.current_state ??= this.#currentState()
  }

  get #time(): string {
    const time = this.#text('time')
    return time === undefined || time === 'now' ? this.reading.currentTime : time
  }

  #text(name: string): string | undefined {
    if (!this.#valuesByName.has(name))
      this.#valuesByName.set(name, this.#context.takeAll(name)[0]?.take('', 'code', 'value'))
    const value = this.#valuesByName.get(name)
    return value === undefined ? undefined : String(value)
  }

  /** An object of `ctx/`, by its attribute. */
  #value(name: string, rmType: string, attribute = name): unknown {
    if (!this.#valuesByName.has(name)) {
      const [node] = this.#context.takeAll(name)
      this.#valuesByName.set(name, node && readValue(node, { rmType, attribute }, this.reading))
    }
    return this.#valuesByName.get(name)
  }

  #completeComposition(object: RmObject): void {
    const territory = this.#text('territory')
    object.language ??= this.#language
    if (territory !== undefined) object.territory ??= codePhrase('ISO_3166-1', territory)
    object.category ??= openehrText('433')
    object.composer ??= this.#composer()
    const code = ((object.category as RmObject).defining_code as RmObject | undefined)?.code_string
    if (object.context === undefined && code !== '431') {
      object.context = { _type: 'EVENT_CONTEXT' }
      this.#completeContext(object.context as RmObject)
    }
  }

  get #language(): RmObject {
    return codePhrase('ISO_639-1', this.#text('language') ?? this.#template.language)
  }

  #composer(): RmObject | undefined {
    if (this.#text('composer_self') === 'true') return { _type: 'PARTY_SELF' }
    return this.#party('composer')
  }

  /** A person of `ctx/`: `composer_name` and `composer_id`. */
  #party(role: string): RmObject | undefined {
    const name = this.#text(`${role}_name`)
    const id = this.#text(`${role}_id`)
    if (name === undefined && id === undefined) return undefined
    const { idScheme: scheme, idNamespace: namespace } = this.reading
    return {
      _type: 'PARTY_IDENTIFIED',
      ...(name !== undefined && { name }),
      ...(id !== undefined && {
        external_ref: {
          _type: 'PARTY_REF',
          type: 'PARTY',
          namespace,
          id:
            scheme === undefined
              ? { _type: 'HIER_OBJECT_ID', value: id }
              : { _type: 'GENERIC_ID', value: id, scheme },
        },
      }),
    }
  }

  #completeContext(object: RmObject): void {
    const [endTime, location, setting] = ['end_time', 'location', 'setting'].map((name) => this.#text(name))
    object.start_time ??= dateTime(this.#time)
    if (endTime !== undefined) object.end_time ??= dateTime(endTime)
    if (location !== undefined) object.location ??= location
    object.setting ??= readCode(setting ?? '238')
    const facility = this.#value('health_care_facility', 'PARTY_IDENTIFIED')
    if (facility !== undefined) object.health_care_facility ??= facility
    const participations = this.#participations()
    if (participations.length > 0) object.participations ??= participations
  }

  /** `ctx/participation_name:0` and its likes. */
  #participations(): RmObject[] {
    if (!this.#valuesByName.has('participation'))
      this.#valuesByName.set('participation', this.#readParticipations())
    return this.#valuesByName.get('participation') as RmObject[]
  }

  #readParticipations(): RmObject[] {
    const parts = ['name', 'function', 'mode', 'id'] as const
    const valuesByPart = parts.map((name) =>
      this.#context.takeAll(`participation_${name}`).map((node) => node.take('')),
    )
    const count = Math.max(...valuesByPart.map(({ length }) => length))
    return Array.from({ length: count }, (_, i) => {
      const node = this.#context.child('participation', i)
      for (const [partIndex, name] of parts.entries()) {
        const value = valuesByPart[partIndex]?.[i]
        if (value !== undefined) node.parts.set(name, value)
      }
      return node
    }).map((node) => readValue(node, { rmType: 'PARTICIPATION', attribute: '' }, this.reading) as RmObject)
  }

  #completeEntry(object: RmObject): void {
    object.language ??= this.#language
    object.encoding ??= codePhrase('IANA_character-sets', 'UTF-8')
    object.subject ??= { _type: 'PARTY_SELF' }
    const provider = this.#party('provider')
    if (provider) object.provider ??= provider
    const workflow = this.#value('work_flow_id', 'OBJECT_REF', 'workflow_id')
    if (workflow !== undefined) object.workflow_id ??= workflow
    if (object._type === 'INSTRUCTION')
      object.narrative ??= { _type: 'DV_TEXT', value: this.#text('instruction_narrative') ?? '<none>' }
    if (object._type !== 'ACTION') return
    object.time ??= dateTime(this.#text('action_time') ?? this.#time)
    object.ism_transition ??= { _type: 'ISM_TRANSITION', current_state: this.#currentState() }
  }

  #completeActivity(object: RmObject): void {
    const timing = this.#text('activity_timing')
    if (timing !== undefined) object.timing ??= { _type: 'DV_PARSABLE', value: timing, formalism: 'timing' }
  }

  #currentState(): RmObject {
    return readCode(this.#text('action_ism_transition_current_state') ?? '532')
  }
}

/** A coded text of openEHR's terminology, by its code or its text. */
const readCode = (codeOrText: string): RmObject =>
  openehrRubric(codeOrText) === undefined
    ? openehrText(findOpenehrCode(codeOrText) ?? codeOrText)
    : openehrText(codeOrText)
