/**
 * The classes of the openEHR reference model (1.0.4 and 1.1.0) that occur in compositions and in EHR_STATUS. An attribute
 * is its type, followed by `!` when it is mandatory and by `*` when there may be several; those of the parent come first,
 * and all stand in the order of the XML schema. `@` marks what is an attribute in XML, too.
 */
const CLASSES = {
  DATA_VALUE: abstract(undefined, {}),
  DV_BOOLEAN: concrete('DATA_VALUE', { value: 'Boolean!' }),
  DV_IDENTIFIER: concrete('DATA_VALUE', {
    issuer: 'String',
    assigner: 'String',
    id: 'String!',
    type: 'String',
  }),
  DV_STATE: concrete('DATA_VALUE', { value: 'DV_CODED_TEXT!', is_terminal: 'Boolean!' }),
  DV_TEXT: concrete('DATA_VALUE', {
    value: 'String!',
    hyperlink: 'DV_URI',
    formatting: 'String',
    mappings: 'TERM_MAPPING*',
    language: 'CODE_PHRASE',
    encoding: 'CODE_PHRASE',
  }),
  DV_CODED_TEXT: concrete('DV_TEXT', { defining_code: 'CODE_PHRASE!' }),
  DV_PARAGRAPH: concrete('DATA_VALUE', { items: 'DV_TEXT!*' }),
  TERM_MAPPING: concrete(undefined, { match: 'Match!', purpose: 'DV_CODED_TEXT', target: 'CODE_PHRASE!' }),
  CODE_PHRASE: concrete(undefined, {
    terminology_id: 'TERMINOLOGY_ID!',
    code_string: 'Code!',
    preferred_term: 'String',
  }),
  DV_ORDERED: abstract('DATA_VALUE', {
    normal_range: 'DV_INTERVAL',
    other_reference_ranges: 'REFERENCE_RANGE*',
    normal_status: 'CODE_PHRASE',
  }),
  DV_INTERVAL: concrete('DATA_VALUE', {
    lower: 'DV_ORDERED',
    upper: 'DV_ORDERED',
    lower_included: 'Boolean',
    upper_included: 'Boolean',
    lower_unbounded: 'Boolean',
    upper_unbounded: 'Boolean',
  }),
  REFERENCE_RANGE: concrete(undefined, { meaning: 'DV_TEXT!', range: 'DV_INTERVAL!' }),
  DV_ORDINAL: concrete('DV_ORDERED', { value: 'Integer!', symbol: 'DV_CODED_TEXT!' }),
  DV_SCALE: concrete('DV_ORDERED', { value: 'Real!', symbol: 'DV_CODED_TEXT!' }),
  DV_QUANTIFIED: abstract('DV_ORDERED', { magnitude_status: 'MagnitudeStatus' }),
  DV_AMOUNT: abstract('DV_QUANTIFIED', { accuracy: 'Real', accuracy_is_percent: 'Boolean' }),
  DV_QUANTITY: concrete('DV_AMOUNT', {
    magnitude: 'Real!',
    units: 'String!',
    precision: 'Integer',
    units_system: 'String',
    units_display_name: 'String',
    property: 'CODE_PHRASE',
  }),
  DV_COUNT: concrete('DV_AMOUNT', { magnitude: 'Integer!' }),
  DV_PROPORTION: concrete('DV_AMOUNT', {
    numerator: 'Real!',
    denominator: 'Real!',
    type: 'ProportionKind!',
    precision: 'Integer',
  }),
  DV_DURATION: concrete('DV_AMOUNT', { value: 'Duration!' }),
  DV_TEMPORAL: abstract('DV_QUANTIFIED', { accuracy: 'DV_DURATION' }),
  DV_DATE: concrete('DV_TEMPORAL', { value: 'Date!' }),
  DV_TIME: concrete('DV_TEMPORAL', { value: 'Time!' }),
  DV_DATE_TIME: concrete('DV_TEMPORAL', { value: 'DateTime!' }),
  DV_TIME_SPECIFICATION: abstract('DATA_VALUE', { value: 'DV_PARSABLE!' }),
  DV_PERIODIC_TIME_SPECIFICATION: concrete('DV_TIME_SPECIFICATION', {}),
  DV_GENERAL_TIME_SPECIFICATION: concrete('DV_TIME_SPECIFICATION', {}),
  DV_ENCAPSULATED: abstract('DATA_VALUE', { charset: 'CODE_PHRASE', language: 'CODE_PHRASE' }),
  DV_MULTIMEDIA: concrete('DV_ENCAPSULATED', {
    alternate_text: 'String',
    uri: 'DV_URI',
    data: 'Base64',
    media_type: 'CODE_PHRASE!',
    compression_algorithm: 'CODE_PHRASE',
    integrity_check: 'Base64',
    integrity_check_algorithm: 'CODE_PHRASE',
    size: 'Integer!',
    thumbnail: 'DV_MULTIMEDIA',
  }),
  DV_PARSABLE: concrete('DV_ENCAPSULATED', { value: 'String!', formalism: 'String!' }),
  DV_URI: concrete('DATA_VALUE', { value: 'Uri!' }),
  DV_EHR_URI: concrete('DV_URI', { value: 'EhrUri!' }),

  OBJECT_ID: abstract(undefined, { value: 'Identifier!' }),
  UID_BASED_ID: abstract('OBJECT_ID', {}),
  OBJECT_VERSION_ID: concrete('UID_BASED_ID', {}),
  HIER_OBJECT_ID: concrete('UID_BASED_ID', {}),
  ARCHETYPE_ID: concrete('OBJECT_ID', {}),
  TEMPLATE_ID: concrete('OBJECT_ID', {}),
  TERMINOLOGY_ID: concrete('OBJECT_ID', {}),
  GENERIC_ID: concrete('OBJECT_ID', { scheme: 'String!' }),
  OBJECT_REF: concrete(undefined, { id: 'OBJECT_ID!', namespace: 'String!', type: 'String!' }),
  PARTY_REF: concrete('OBJECT_REF', {}),
  ACCESS_GROUP_REF: concrete('OBJECT_REF', {}),
  LOCATABLE_REF: concrete('OBJECT_REF', { path: 'String' }),

  PARTY_PROXY: abstract(undefined, { external_ref: 'PARTY_REF' }),
  PARTY_SELF: concrete('PARTY_PROXY', {}),
  PARTY_IDENTIFIED: concrete('PARTY_PROXY', { name: 'String', identifiers: 'DV_IDENTIFIER*' }),
  PARTY_RELATED: concrete('PARTY_IDENTIFIED', { relationship: 'DV_CODED_TEXT!' }),
  PARTICIPATION: concrete(undefined, {
    function: 'DV_TEXT!',
    performer: 'PARTY_PROXY!',
    time: 'DV_INTERVAL',
    mode: 'DV_CODED_TEXT',
  }),
  FEEDER_AUDIT: concrete(undefined, {
    originating_system_item_ids: 'DV_IDENTIFIER*',
    feeder_system_item_ids: 'DV_IDENTIFIER*',
    original_content: 'DV_ENCAPSULATED',
    originating_system_audit: 'FEEDER_AUDIT_DETAILS!',
    feeder_system_audit: 'FEEDER_AUDIT_DETAILS',
  }),
  FEEDER_AUDIT_DETAILS: concrete(undefined, {
    system_id: 'String!',
    location: 'PARTY_IDENTIFIED',
    provider: 'PARTY_IDENTIFIED',
    subject: 'PARTY_PROXY',
    time: 'DV_DATE_TIME',
    version_id: 'String',
    other_details: 'ITEM_STRUCTURE',
  }),

  LOCATABLE: abstract(undefined, {
    archetype_node_id: '@String!',
    name: 'DV_TEXT!',
    uid: 'UID_BASED_ID',
    links: 'LINK*',
    archetype_details: 'ARCHETYPED',
    feeder_audit: 'FEEDER_AUDIT',
  }),
  ARCHETYPED: concrete(undefined, {
    archetype_id: 'ARCHETYPE_ID!',
    template_id: 'TEMPLATE_ID',
    rm_version: 'String!',
  }),
  LINK: concrete(undefined, { meaning: 'DV_TEXT!', type: 'DV_TEXT!', target: 'DV_EHR_URI!' }),
  ITEM_STRUCTURE: abstract('LOCATABLE', {}),
  ITEM_SINGLE: concrete('ITEM_STRUCTURE', { item: 'ELEMENT!' }),
  ITEM_LIST: concrete('ITEM_STRUCTURE', { items: 'ELEMENT*' }),
  ITEM_TREE: concrete('ITEM_STRUCTURE', { items: 'ITEM*' }),
  ITEM_TABLE: concrete('ITEM_STRUCTURE', { rows: 'CLUSTER*' }),
  ITEM: abstract('LOCATABLE', {}),
  CLUSTER: concrete('ITEM', { items: 'ITEM!*' }),
  ELEMENT: concrete('ITEM', { value: 'DATA_VALUE', null_flavour: 'DV_CODED_TEXT', null_reason: 'DV_TEXT' }),
  HISTORY: concrete('LOCATABLE', {
    origin: 'DV_DATE_TIME!',
    period: 'DV_DURATION',
    duration: 'DV_DURATION',
    events: 'EVENT*',
    summary: 'ITEM_STRUCTURE',
  }),
  EVENT: abstract('LOCATABLE', { time: 'DV_DATE_TIME!', data: 'ITEM_STRUCTURE!', state: 'ITEM_STRUCTURE' }),
  POINT_EVENT: concrete('EVENT', {}),
  INTERVAL_EVENT: concrete('EVENT', {
    width: 'DV_DURATION!',
    sample_count: 'Integer',
    math_function: 'DV_CODED_TEXT!',
  }),

  COMPOSITION: concrete('LOCATABLE', {
    language: 'CODE_PHRASE!',
    territory: 'CODE_PHRASE!',
    category: 'DV_CODED_TEXT!',
    composer: 'PARTY_PROXY!',
    context: 'EVENT_CONTEXT',
    content: 'CONTENT_ITEM*',
  }),
  EVENT_CONTEXT: concrete(undefined, {
    start_time: 'DV_DATE_TIME!',
    end_time: 'DV_DATE_TIME',
    location: 'String',
    setting: 'DV_CODED_TEXT!',
    other_context: 'ITEM_STRUCTURE',
    health_care_facility: 'PARTY_IDENTIFIED',
    participations: 'PARTICIPATION*',
  }),
  CONTENT_ITEM: abstract('LOCATABLE', {}),
  SECTION: concrete('CONTENT_ITEM', { items: 'CONTENT_ITEM*' }),
  GENERIC_ENTRY: concrete('CONTENT_ITEM', { data: 'ITEM_TREE!' }),
  ENTRY: abstract('CONTENT_ITEM', {
    language: 'CODE_PHRASE!',
    encoding: 'CODE_PHRASE!',
    subject: 'PARTY_PROXY!',
    provider: 'PARTY_PROXY',
    other_participations: 'PARTICIPATION*',
    workflow_id: 'OBJECT_REF',
  }),
  ADMIN_ENTRY: concrete('ENTRY', { data: 'ITEM_STRUCTURE!' }),
  CARE_ENTRY: abstract('ENTRY', { protocol: 'ITEM_STRUCTURE', guideline_id: 'OBJECT_REF' }),
  EVALUATION: concrete('CARE_ENTRY', { data: 'ITEM_STRUCTURE!' }),
  OBSERVATION: concrete('CARE_ENTRY', { data: 'HISTORY!', state: 'HISTORY' }),
  INSTRUCTION: concrete('CARE_ENTRY', {
    narrative: 'DV_TEXT!',
    expiry_time: 'DV_DATE_TIME',
    wf_definition: 'DV_PARSABLE',
    activities: 'ACTIVITY*',
  }),
  ACTION: concrete('CARE_ENTRY', {
    time: 'DV_DATE_TIME!',
    description: 'ITEM_STRUCTURE!',
    ism_transition: 'ISM_TRANSITION!',
    instruction_details: 'INSTRUCTION_DETAILS',
  }),
  ACTIVITY: concrete('LOCATABLE', {
    description: 'ITEM_STRUCTURE!',
    timing: 'DV_PARSABLE',
    action_archetype_id: 'String',
  }),
  INSTRUCTION_DETAILS: concrete(undefined, {
    instruction_id: 'LOCATABLE_REF!',
    activity_id: 'String!',
    wf_details: 'ITEM_STRUCTURE',
  }),
  ISM_TRANSITION: concrete(undefined, {
    current_state: 'DV_CODED_TEXT!',
    transition: 'DV_CODED_TEXT',
    careflow_step: 'DV_CODED_TEXT',
    reason: 'DV_TEXT*',
  }),
  EHR_STATUS: concrete('LOCATABLE', {
    subject: 'PARTY_SELF!',
    is_queryable: 'Boolean!',
    is_modifiable: 'Boolean!',
    other_details: 'ITEM_STRUCTURE',
  }),
} as const

interface Declared {
  abstract: boolean
  parent: string | undefined
  attributes: Readonly<Record<string, string>>
}

function abstract(parent: string | undefined, attributes: Declared['attributes']): Declared {
  return { abstract: true, parent, attributes }
}

function concrete(parent: string | undefined, attributes: Declared['attributes']): Declared {
  return { abstract: false, parent, attributes }
}

export interface RmAttribute {
  name: string
  /** A class of the model, or one of the primitive types in primitives.ts. */
  type: string
  mandatory: boolean
  multiple: boolean
  /** In XML, an attribute of the element. */
  inTag: boolean
}

export interface RmClass {
  name: string
  abstract: boolean
  /** Its own name and those of all its ancestors. */
  isA: ReadonlySet<string>
  /** In the order of the XML schema. */
  attributes: ReadonlyMap<string, RmAttribute>
}

function attributeOf(name: string, declared: string): RmAttribute {
  return {
    name,
    type: declared.replace(/[@!*]/g, ''),
    mandatory: declared.includes('!'),
    multiple: declared.includes('*'),
    inTag: declared.startsWith('@'),
  }
}

function classOf(name: string): RmClass {
  const { abstract, parent, attributes } = (CLASSES as Record<string, Declared>)[name] as Declared
  const inherited = parent === undefined ? undefined : classOf(parent)
  const own = Object.entries(attributes).map(([of, type]) => [of, attributeOf(of, type)] as const)
  return {
    name,
    abstract,
    isA: new Set([name, ...(inherited?.isA ?? [])]),
    attributes: new Map([...(inherited?.attributes ?? []), ...own]),
  }
}

const classes: ReadonlyMap<string, RmClass> = new Map(
  Object.keys(CLASSES).map((name) => [name, classOf(name)]),
)

/** The names of all classes. */
export const rmClasses: readonly string[] = [...classes.keys()]

/** `DV_INTERVAL<DV_COUNT>` is a DV_INTERVAL: the class without its parameters. */
const bareName = (name: string): string => name.replace(/<.*$/, '')

/** The class of that name; undefined: there is none. */
export const rmClass = (name: string): RmClass | undefined => classes.get(bareName(name))

/** Whether a class is another one, or one of its descendants. */
export const isA = (name: string, ancestor: string): boolean =>
  classes.get(bareName(name))?.isA.has(bareName(ancestor)) ?? false
