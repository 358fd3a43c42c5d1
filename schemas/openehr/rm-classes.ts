/**
 * The classes of the openEHR reference model (1.0.4 and 1.1.0) that occur in compositions, EHR_STATUS and FOLDER.
 * An attribute is written as its type, followed by `!` if it is mandatory and by `*` if it is multiple.
 * Attributes of the parent class come first, all in the order of the XML schema. `@` marks an attribute that
 * is also one in XML.
 */
const CLASSES = {
  DATA_VALUE: abstractClass(undefined, {}),
  DV_BOOLEAN: concreteClass('DATA_VALUE', { value: 'Boolean!' }),
  DV_IDENTIFIER: concreteClass('DATA_VALUE', {
    issuer: 'String',
    assigner: 'String',
    id: 'NonEmptyString!',
    type: 'String',
  }),
  DV_STATE: concreteClass('DATA_VALUE', { value: 'DV_CODED_TEXT!', is_terminal: 'Boolean!' }),
  DV_TEXT: concreteClass('DATA_VALUE', {
    value: 'String!',
    hyperlink: 'DV_URI',
    formatting: 'NonEmptyString',
    mappings: 'TERM_MAPPING*',
    language: 'CODE_PHRASE',
    encoding: 'CODE_PHRASE',
  }),
  DV_CODED_TEXT: concreteClass('DV_TEXT', { defining_code: 'CODE_PHRASE!' }),
  DV_PARAGRAPH: concreteClass('DATA_VALUE', { items: 'DV_TEXT!*' }),
  TERM_MAPPING: concreteClass(undefined, {
    match: 'Match!',
    purpose: 'DV_CODED_TEXT',
    target: 'CODE_PHRASE!',
  }),
  CODE_PHRASE: concreteClass(undefined, {
    terminology_id: 'TERMINOLOGY_ID!',
    code_string: 'NonEmptyString!',
    preferred_term: 'String',
  }),
  DV_ORDERED: abstractClass('DATA_VALUE', {
    normal_range: 'DV_INTERVAL',
    other_reference_ranges: 'REFERENCE_RANGE*',
    normal_status: 'CODE_PHRASE',
  }),
  DV_INTERVAL: concreteClass('DATA_VALUE', {
    lower: 'DV_ORDERED',
    upper: 'DV_ORDERED',
    lower_included: 'Boolean',
    upper_included: 'Boolean',
    lower_unbounded: 'Boolean',
    upper_unbounded: 'Boolean',
  }),
  REFERENCE_RANGE: concreteClass(undefined, { meaning: 'DV_TEXT!', range: 'DV_INTERVAL!' }),
  // Whole numbers, but templates of some scores list halves.
  DV_ORDINAL: concreteClass('DV_ORDERED', { value: 'Real!', symbol: 'DV_CODED_TEXT!' }),
  DV_SCALE: concreteClass('DV_ORDERED', { value: 'Real!', symbol: 'DV_CODED_TEXT!' }),
  DV_QUANTIFIED: abstractClass('DV_ORDERED', { magnitude_status: 'MagnitudeStatus' }),
  DV_AMOUNT: abstractClass('DV_QUANTIFIED', { accuracy: 'Real', accuracy_is_percent: 'Boolean' }),
  DV_QUANTITY: concreteClass('DV_AMOUNT', {
    magnitude: 'Real!',
    units: 'String!',
    precision: 'Integer',
    units_system: 'String',
    units_display_name: 'String',
    property: 'CODE_PHRASE',
  }),
  DV_COUNT: concreteClass('DV_AMOUNT', { magnitude: 'Integer!' }),
  DV_PROPORTION: concreteClass('DV_AMOUNT', {
    numerator: 'Real!',
    denominator: 'Real!',
    type: 'ProportionKind!',
    precision: 'Integer',
  }),
  DV_DURATION: concreteClass('DV_AMOUNT', { value: 'Duration!' }),
  DV_TEMPORAL: abstractClass('DV_QUANTIFIED', { accuracy: 'DV_DURATION' }),
  DV_DATE: concreteClass('DV_TEMPORAL', { value: 'Date!' }),
  DV_TIME: concreteClass('DV_TEMPORAL', { value: 'Time!' }),
  DV_DATE_TIME: concreteClass('DV_TEMPORAL', { value: 'DateTime!' }),
  DV_TIME_SPECIFICATION: abstractClass('DATA_VALUE', { value: 'DV_PARSABLE!' }),
  DV_PERIODIC_TIME_SPECIFICATION: concreteClass('DV_TIME_SPECIFICATION', {}),
  DV_GENERAL_TIME_SPECIFICATION: concreteClass('DV_TIME_SPECIFICATION', {}),
  DV_ENCAPSULATED: abstractClass('DATA_VALUE', { charset: 'CODE_PHRASE', language: 'CODE_PHRASE' }),
  DV_MULTIMEDIA: concreteClass('DV_ENCAPSULATED', {
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
  DV_PARSABLE: concreteClass('DV_ENCAPSULATED', { value: 'String!', formalism: 'NonEmptyString!' }),
  DV_URI: concreteClass('DATA_VALUE', { value: 'Uri!' }),
  DV_EHR_URI: concreteClass('DV_URI', { value: 'EhrUri!' }),

  OBJECT_ID: abstractClass(undefined, { value: 'Identifier!' }),
  UID_BASED_ID: abstractClass('OBJECT_ID', {}),
  OBJECT_VERSION_ID: concreteClass('UID_BASED_ID', {}),
  HIER_OBJECT_ID: concreteClass('UID_BASED_ID', {}),
  ARCHETYPE_ID: concreteClass('OBJECT_ID', {}),
  TEMPLATE_ID: concreteClass('OBJECT_ID', {}),
  TERMINOLOGY_ID: concreteClass('OBJECT_ID', {}),
  GENERIC_ID: concreteClass('OBJECT_ID', { scheme: 'String!' }),
  OBJECT_REF: concreteClass(undefined, {
    id: 'OBJECT_ID!',
    namespace: 'NonEmptyString!',
    type: 'NonEmptyString!',
  }),
  PARTY_REF: concreteClass('OBJECT_REF', {}),
  ACCESS_GROUP_REF: concreteClass('OBJECT_REF', {}),
  LOCATABLE_REF: concreteClass('OBJECT_REF', { path: 'String' }),

  PARTY_PROXY: abstractClass(undefined, { external_ref: 'PARTY_REF' }),
  PARTY_SELF: concreteClass('PARTY_PROXY', {}),
  PARTY_IDENTIFIED: concreteClass('PARTY_PROXY', { name: 'NonEmptyString', identifiers: 'DV_IDENTIFIER*' }),
  PARTY_RELATED: concreteClass('PARTY_IDENTIFIED', { relationship: 'DV_CODED_TEXT!' }),
  PARTICIPATION: concreteClass(undefined, {
    function: 'DV_TEXT!',
    performer: 'PARTY_PROXY!',
    time: 'DV_INTERVAL',
    mode: 'DV_CODED_TEXT',
  }),
  FEEDER_AUDIT: concreteClass(undefined, {
    originating_system_item_ids: 'DV_IDENTIFIER*',
    feeder_system_item_ids: 'DV_IDENTIFIER*',
    original_content: 'DV_ENCAPSULATED',
    originating_system_audit: 'FEEDER_AUDIT_DETAILS!',
    feeder_system_audit: 'FEEDER_AUDIT_DETAILS',
  }),
  FEEDER_AUDIT_DETAILS: concreteClass(undefined, {
    system_id: 'NonEmptyString!',
    location: 'PARTY_IDENTIFIED',
    provider: 'PARTY_IDENTIFIED',
    subject: 'PARTY_PROXY',
    time: 'DV_DATE_TIME',
    version_id: 'String',
    other_details: 'ITEM_STRUCTURE',
  }),

  LOCATABLE: abstractClass(undefined, {
    archetype_node_id: '@NonEmptyString!',
    name: 'DV_TEXT!',
    uid: 'UID_BASED_ID',
    links: 'LINK*',
    archetype_details: 'ARCHETYPED',
    feeder_audit: 'FEEDER_AUDIT',
  }),
  ARCHETYPED: concreteClass(undefined, {
    archetype_id: 'ARCHETYPE_ID!',
    template_id: 'TEMPLATE_ID',
    rm_version: 'NonEmptyString!',
  }),
  LINK: concreteClass(undefined, { meaning: 'DV_TEXT!', type: 'DV_TEXT!', target: 'DV_EHR_URI!' }),
  ITEM_STRUCTURE: abstractClass('LOCATABLE', {}),
  ITEM_SINGLE: concreteClass('ITEM_STRUCTURE', { item: 'ELEMENT!' }),
  ITEM_LIST: concreteClass('ITEM_STRUCTURE', { items: 'ELEMENT*' }),
  ITEM_TREE: concreteClass('ITEM_STRUCTURE', { items: 'ITEM*' }),
  ITEM_TABLE: concreteClass('ITEM_STRUCTURE', { rows: 'CLUSTER*' }),
  ITEM: abstractClass('LOCATABLE', {}),
  CLUSTER: concreteClass('ITEM', { items: 'ITEM!*' }),
  ELEMENT: concreteClass('ITEM', {
    value: 'DATA_VALUE',
    null_flavour: 'DV_CODED_TEXT',
    null_reason: 'DV_TEXT',
  }),
  HISTORY: concreteClass('LOCATABLE', {
    origin: 'DV_DATE_TIME!',
    period: 'DV_DURATION',
    duration: 'DV_DURATION',
    events: 'EVENT*',
    summary: 'ITEM_STRUCTURE',
  }),
  EVENT: abstractClass('LOCATABLE', {
    time: 'DV_DATE_TIME!',
    data: 'ITEM_STRUCTURE!',
    state: 'ITEM_STRUCTURE',
  }),
  POINT_EVENT: concreteClass('EVENT', {}),
  INTERVAL_EVENT: concreteClass('EVENT', {
    width: 'DV_DURATION!',
    sample_count: 'Integer',
    math_function: 'DV_CODED_TEXT!',
  }),

  COMPOSITION: concreteClass('LOCATABLE', {
    language: 'CODE_PHRASE!',
    territory: 'CODE_PHRASE!',
    category: 'DV_CODED_TEXT!',
    composer: 'PARTY_PROXY!',
    context: 'EVENT_CONTEXT',
    content: 'CONTENT_ITEM*',
  }),
  EVENT_CONTEXT: concreteClass(undefined, {
    start_time: 'DV_DATE_TIME!',
    end_time: 'DV_DATE_TIME',
    location: 'NonEmptyString',
    setting: 'DV_CODED_TEXT!',
    other_context: 'ITEM_STRUCTURE',
    health_care_facility: 'PARTY_IDENTIFIED',
    participations: 'PARTICIPATION*',
  }),
  CONTENT_ITEM: abstractClass('LOCATABLE', {}),
  SECTION: concreteClass('CONTENT_ITEM', { items: 'CONTENT_ITEM*' }),
  GENERIC_ENTRY: concreteClass('CONTENT_ITEM', { data: 'ITEM_TREE!' }),
  ENTRY: abstractClass('CONTENT_ITEM', {
    language: 'CODE_PHRASE!',
    encoding: 'CODE_PHRASE!',
    subject: 'PARTY_PROXY!',
    provider: 'PARTY_PROXY',
    other_participations: 'PARTICIPATION*',
    workflow_id: 'OBJECT_REF',
  }),
  ADMIN_ENTRY: concreteClass('ENTRY', { data: 'ITEM_STRUCTURE!' }),
  CARE_ENTRY: abstractClass('ENTRY', { protocol: 'ITEM_STRUCTURE', guideline_id: 'OBJECT_REF' }),
  EVALUATION: concreteClass('CARE_ENTRY', { data: 'ITEM_STRUCTURE!' }),
  OBSERVATION: concreteClass('CARE_ENTRY', { data: 'HISTORY!', state: 'HISTORY' }),
  INSTRUCTION: concreteClass('CARE_ENTRY', {
    narrative: 'DV_TEXT!',
    expiry_time: 'DV_DATE_TIME',
    wf_definition: 'DV_PARSABLE',
    activities: 'ACTIVITY*',
  }),
  ACTION: concreteClass('CARE_ENTRY', {
    time: 'DV_DATE_TIME!',
    description: 'ITEM_STRUCTURE!',
    ism_transition: 'ISM_TRANSITION!',
    instruction_details: 'INSTRUCTION_DETAILS',
  }),
  ACTIVITY: concreteClass('LOCATABLE', {
    description: 'ITEM_STRUCTURE!',
    timing: 'DV_PARSABLE',
    action_archetype_id: 'NonEmptyString',
  }),
  INSTRUCTION_DETAILS: concreteClass(undefined, {
    instruction_id: 'LOCATABLE_REF!',
    activity_id: 'NonEmptyString!',
    wf_details: 'ITEM_STRUCTURE',
  }),
  ISM_TRANSITION: concreteClass(undefined, {
    current_state: 'DV_CODED_TEXT!',
    transition: 'DV_CODED_TEXT',
    careflow_step: 'DV_CODED_TEXT',
    reason: 'DV_TEXT*',
  }),
  EHR_STATUS: concreteClass('LOCATABLE', {
    subject: 'PARTY_SELF!',
    is_queryable: 'Boolean!',
    is_modifiable: 'Boolean!',
    other_details: 'ITEM_STRUCTURE',
  }),
  FOLDER: concreteClass('LOCATABLE', {
    folders: 'FOLDER*',
    items: 'OBJECT_REF*',
    details: 'ITEM_STRUCTURE',
  }),
} as const

/** The classes around versioned objects, which the service writes and does not read. */
const CHANGE_CONTROL_CLASSES = {
  EHR: concreteClass(undefined, {
    system_id: 'HIER_OBJECT_ID!',
    ehr_id: 'HIER_OBJECT_ID!',
    time_created: 'DV_DATE_TIME!',
    ehr_status: 'OBJECT_REF!',
    directory: 'OBJECT_REF',
  }),
  VERSIONED_OBJECT: concreteClass(undefined, {
    uid: 'HIER_OBJECT_ID!',
    owner_id: 'OBJECT_REF!',
    time_created: 'DV_DATE_TIME!',
  }),
  VERSIONED_COMPOSITION: concreteClass('VERSIONED_OBJECT', {}),
  VERSIONED_EHR_STATUS: concreteClass('VERSIONED_OBJECT', {}),
  AUDIT_DETAILS: concreteClass(undefined, {
    system_id: 'String!',
    committer: 'PARTY_PROXY!',
    time_committed: 'DV_DATE_TIME!',
    change_type: 'DV_CODED_TEXT!',
    description: 'DV_TEXT',
  }),
  ORIGINAL_VERSION: concreteClass(undefined, {
    contribution: 'OBJECT_REF!',
    commit_audit: 'AUDIT_DETAILS!',
    uid: 'OBJECT_VERSION_ID!',
    data: 'LOCATABLE',
    preceding_version_uid: 'OBJECT_VERSION_ID',
    lifecycle_state: 'DV_CODED_TEXT!',
  }),
  REVISION_HISTORY: concreteClass(undefined, { items: 'REVISION_HISTORY_ITEM!*' }),
  REVISION_HISTORY_ITEM: concreteClass(undefined, {
    version_id: 'OBJECT_VERSION_ID!',
    audits: 'AUDIT_DETAILS!*',
  }),
  CONTRIBUTION: concreteClass(undefined, {
    uid: 'HIER_OBJECT_ID!',
    versions: 'OBJECT_REF!*',
    audit: 'AUDIT_DETAILS!',
  }),
} as const

interface ClassDeclaration {
  abstract: boolean
  parent: string | undefined
  attributes: Readonly<Record<string, string>>
}

function abstractClass(
  parent: string | undefined,
  attributes: ClassDeclaration['attributes'],
): ClassDeclaration {
  return { abstract: true, parent, attributes }
}

function concreteClass(
  parent: string | undefined,
  attributes: ClassDeclaration['attributes'],
): ClassDeclaration {
  return { abstract: false, parent, attributes }
}

export interface RmAttribute {
  name: string
  /** A class of the model, or a primitive type of openehr/rm/primitives.ts. */
  type: string
  mandatory: boolean
  multiple: boolean
  /** Whether XML writes it as an attribute of the element. */
  inTag: boolean
}

export interface RmClass {
  name: string
  abstract: boolean
  /** The names of the class and all its ancestors. */
  isA: ReadonlySet<string>
  /** In the order of the XML schema. */
  attributes: ReadonlyMap<string, RmAttribute>
}

function parseAttribute(name: string, declaration: string): RmAttribute {
  return {
    name,
    type: declaration.replace(/[@!*]/g, ''),
    mandatory: declaration.includes('!'),
    multiple: declaration.includes('*'),
    inTag: declaration.startsWith('@'),
  }
}

function buildClass(name: string): RmClass {
  const declarations: Record<string, ClassDeclaration> = { ...CLASSES, ...CHANGE_CONTROL_CLASSES }
  const { abstract, parent, attributes } = declarations[name] as ClassDeclaration
  const parentClass = parent === undefined ? undefined : buildClass(parent)
  const attributeTypes = Object.entries(attributes).map(
    ([attribute, type]) => [attribute, parseAttribute(attribute, type)] as const,
  )
  return {
    name,
    abstract,
    isA: new Set([name, ...(parentClass?.isA ?? [])]),
    attributes: new Map([...(parentClass?.attributes ?? []), ...attributeTypes]),
  }
}

const classesByName: ReadonlyMap<string, RmClass> = new Map(
  Object.keys(CLASSES).map((name) => [name, buildClass(name)]),
)

export const rmClassNames: readonly string[] = [...classesByName.keys()]

const changeControlClasses: ReadonlyMap<string, RmClass> = new Map(
  Object.keys(CHANGE_CONTROL_CLASSES).map((name) => [name, buildClass(name)]),
)

/** The class without its type parameters: `DV_INTERVAL<DV_COUNT>` is a DV_INTERVAL. */
export const withoutTypeParameters = (name: string): string => name.replace(/<.*/s, '')

/** The class with this name; undefined if there is none. */
export const findRmClass = (name: string): RmClass | undefined =>
  classesByName.get(withoutTypeParameters(name))

/** The class with this name, also one around versioned objects. */
export const findWrittenClass = (name: string): RmClass | undefined =>
  findRmClass(name) ?? changeControlClasses.get(name)

/** Whether a class is the same as another one, or a descendant of it. */
export const isSubclassOf = (name: string, ancestor: string): boolean =>
  classesByName.get(withoutTypeParameters(name))?.isA.has(withoutTypeParameters(ancestor)) ?? false
