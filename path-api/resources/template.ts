import { Type } from '@sinclair/typebox'
import { webTemplateOf } from '../../records/openehr/templates/web-template.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { ArchetypeHead, ArchetypeResource, TemplateHead } from '../../schemas/template.ts'
import { answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import { revalidated } from '../answer/revalidated.ts'
import { array, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, Medical data'
const path = '/med/knowledge/template'

const params = {
  concept: Type.String({
    pattern: '^[^/\\\\\\p{Cc}]{1,255}$',
    description: 'Id of the template; blanks and capitals make no difference',
    examples: ['vital_signs.v2'],
  }),
}

const headOf = ({
  templateId,
  concept,
  archetypeId,
  createdAt,
}: Record<'templateId' | 'concept' | 'archetypeId' | 'createdAt', string>) => ({
  template_id: templateId,
  concept,
  archetype_id: archetypeId,
  created_timestamp: createdAt,
})

export const templates = [
  operation({
    id: 'addTemplate',
    method: 'post',
    path,
    summary: 'Store an operational template',
    description:
      'As OPT 1.4. One with the same id is never replaced, also when only its blanks or capitals differ.',
    source,
    access: 'modeller',
    body: raw('application/xml', 'text/xml'),
    limits: { bytes: 8 * 1024 * 1024 },
    reply: [201, TemplateHead, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ body }, { caller, templates, newId }) => {
      const head = await templates.add(caller, body.bytes, newId())
      const location = `${path}/${encodeURIComponent(head.templateId)}`
      return answer(headOf(head), { version: head.version, location })
    },
  }),
  array({
    id: 'listTemplates',
    path,
    summary: 'List the operational templates',
    source,
    access: 'user',
    item: TemplateHead,
    handle: async ({ page }, { caller, templates }) => pageAs(await templates.list(caller, page), headOf),
  }),
  operation({
    id: 'getTemplate',
    method: 'get',
    path: `${path}/{concept}`,
    params,
    summary: 'Show an operational template',
    description: 'As a web template (JSON), a tree for forms; or as it came (XML).',
    source,
    access: 'user',
    reply: [200, raw('application/json', 'application/xml'), 'versioned'],
    handle: async ({ params: { concept } }, { caller, templates, accepted }) => {
      const headers = { 'content-type': accepted, vary: 'Accept' }
      if (accepted === 'application/xml') {
        const { head, bytes } = await templates.file(caller, concept)
        return answer(bytes, { version: head.version, headers })
      }
      const { head, template } = await templates.get(caller, concept)
      return answer(JSON.stringify(webTemplateOf(template)), { version: head.version, headers })
    },
  }),
  operation({
    id: 'deleteTemplate',
    method: 'delete',
    path: `${path}/{concept}`,
    params,
    summary: 'Remove an operational template',
    description: 'As long as there are compositions of it, it stays.',
    source,
    access: 'modeller',
    reply: [204],
    errors: ['Conflict'],
    handle: ({ params: { concept } }, { caller, templates, expected }) =>
      templates.remove(caller, concept, expected),
  }),
]

const archetypeOf = ({
  id,
  concept,
  rmType,
  templates,
}: {
  id: string
  concept: string
  rmType: string
  templates: string[]
}) => ({
  archetype_id: id,
  concept,
  rm_type: rmType,
  templates,
})

export const archetypes = [
  array({
    id: 'listArchetypes',
    path: '/med/knowledge/archetype',
    summary: 'List the archetypes that the templates are made of',
    source,
    access: 'user',
    item: ArchetypeHead,
    handle: async ({ page }, { caller, templates }) =>
      pageAs(await templates.archetypes(caller, page), archetypeOf),
  }),
  operation({
    id: 'getArchetype',
    method: 'get',
    path: '/med/knowledge/archetype/{id}',
    params: {
      id: Type.String({
        pattern: '^[A-Za-z0-9_.:-]{1,200}$',
        description: 'Id of the archetype',
        examples: ['openEHR-EHR-OBSERVATION.blood_pressure.v2'],
      }),
    },
    summary: 'Show an archetype with its nodes',
    description: 'As the template shows it that has most of its nodes.',
    source,
    access: 'user',
    reply: [200, ArchetypeResource, 'versioned'],
    handle: async ({ params: { id } }, { caller, templates }) => {
      const { tree, ...archetype } = await templates.archetype(caller, id)
      if (tree === undefined) throw new ServiceError('NotFound')
      const body = { ...archetypeOf(archetype), tree }
      // It is another one when a template comes or goes.
      const { head } = revalidated(JSON.stringify(body), 'application/json')
      return answer(body, { ...head, version: 1 })
    },
  }),
]
