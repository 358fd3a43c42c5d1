import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'

const templateText = (description: string, example: string) =>
  Type.String({ description, examples: [example] })

const templateIdField = templateText('Id of the template', 'Vital signs')
const conceptField = (noun: string) => templateText(`Concept of the ${noun}`, 'Vital signs')
const archetypeIdField = templateText('Id of an archetype', 'openEHR-EHR-OBSERVATION.blood_pressure.v2')

/** A template in lists; the names are those of the openEHR REST API. */
export const TemplateHead = closedObject('TemplateHead', 'An operational template', {
  template_id: templateIdField,
  concept: conceptField('template'),
  archetype_id: templateText('Id of the root archetype', 'openEHR-EHR-COMPOSITION.encounter.v1'),
  created_timestamp: Type.String({ format: 'date-time', description: 'Time of storage' }),
})

const templatesField = Type.Array(templateIdField, {
  description: 'Ids of the templates that use the archetype',
})

const archetypeFields = {
  archetype_id: archetypeIdField,
  concept: conceptField('archetype'),
  rm_type: templateText('Class of the reference model', 'OBSERVATION'),
  templates: templatesField,
}

export const ArchetypeHead = closedObject(
  'ArchetypeHead',
  'An archetype that is part of a template or stored in ADL',
  archetypeFields,
)

const codeField = Type.Object(
  { code: templateText('Code', 'at0005'), text: templateText('Meaning of the code', 'Left arm') },
  { additionalProperties: false },
)

/** A node of an archetype with its children. */
export interface ArchetypeNode {
  node_id: string
  archetype_id?: string
  name: string
  rm_type: string
  occurrences: string
  data_types: string[]
  codes: Static<typeof codeField>[]
  children: ArchetypeNode[]
}

/** The depth of the tree varies, so prose describes its nodes. */
const archetypeTreeField = Type.Unsafe<ArchetypeNode | null>({
  type: ['object', 'null'],
  description:
    'Root node: `node_id`, `name`, `rm_type`, `occurrences`, `data_types`, `codes` and `children`, which are nodes of the same form. A node with an `archetype_id` is the root of that archetype. null if neither the ADL nor a template defines the nodes',
  examples: [
    {
      node_id: 'at0004',
      name: 'Systolic',
      rm_type: 'ELEMENT',
      occurrences: '0..1',
      data_types: ['DV_QUANTITY'],
      codes: [],
      children: [],
    },
  ],
})

export const ArchetypeResource = closedObject('Archetype', 'An archetype with its nodes', {
  ...archetypeFields,
  tree: archetypeTreeField,
})
