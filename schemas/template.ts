import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'

const text = (description: string, example: string) => Type.String({ description, examples: [example] })

const templateId = text('Id of the template', 'Vital signs')
const concept = (of: string) => text(`What the ${of} is about`, 'Vital signs')
const archetypeId = text('Id of an archetype', 'openEHR-EHR-OBSERVATION.blood_pressure.v2')

/** A template as lists show it; the names are those of the openEHR REST interface. */
export const TemplateHead = closed('TemplateHead', 'An operational template', {
  template_id: templateId,
  concept: concept('template'),
  archetype_id: text('Id of the archetype at its root', 'openEHR-EHR-COMPOSITION.encounter.v1'),
  created_timestamp: Type.String({ format: 'date-time', description: 'When it was stored' }),
})

const templates = Type.Array(templateId, { description: 'The templates that use it' })

const ofArchetype = {
  archetype_id: archetypeId,
  concept: concept('archetype'),
  rm_type: text('Its class in the reference model', 'OBSERVATION'),
  templates,
}

export const ArchetypeHead = closed(
  'ArchetypeHead',
  'An archetype: templates are made of it, or it is stored in ADL',
  ofArchetype,
)

const code = Type.Object(
  { code: text('The code', 'at0005'), text: text('What it means', 'Left arm') },
  { additionalProperties: false },
)

/** A node of an archetype, with those below it. */
export interface ArchetypeNode {
  node_id: string
  archetype_id?: string
  name: string
  rm_type: string
  occurrences: string
  data_types: string[]
  codes: Static<typeof code>[]
  children: ArchetypeNode[]
}

/** The tree is as deep as the archetype, so its nodes are described in prose. */
const tree = Type.Unsafe<ArchetypeNode | null>({
  type: ['object', 'null'],
  description:
    'The node at its root: `node_id`, `name`, `rm_type`, `occurrences`, `data_types`, `codes` and its `children`, which are such nodes. A node with an `archetype_id` is the root of that archetype. null: neither its ADL nor a template tells its nodes',
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

export const ArchetypeResource = closed('Archetype', 'An archetype with its nodes', { ...ofArchetype, tree })
