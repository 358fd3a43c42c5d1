import { Type } from '@sinclair/typebox'
import { exampleOf } from '../../records/openehr/examples/example.ts'
import { flatOf } from '../../records/openehr/examples/flat.ts'
import type { RmObject } from '../../records/openehr/rm/canonical.ts'
import { xmlOf } from '../../records/openehr/rm/in-xml.ts'
import { webTemplateOf } from '../../records/openehr/templates/web-template.ts'
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
    inWords: '1 to 255 characters, no slash, backslash or control character',
    description: 'Id of the template, regardless of case and spacing',
    examples: ['vital_signs.v2'],
  }),
}

const oneOf = <const T extends readonly string[]>(names: T, description: string) =>
  Type.Optional(Type.Unsafe<T[number]>({ type: 'string', enum: [...names], default: names[0], description }))

const exampleOptions = {
  format: oneOf(['json', 'xml', 'flat'], 'canonical JSON, XML, or JSON with a line for each value'),
  detail_level: oneOf(['required', 'medium', 'complete'], 'How much it tells'),
  type: oneOf(['input', 'output'], 'As it is sent, or as it is read'),
}

/** What a composition is called that has been stored. */
const UID = { _type: 'OBJECT_VERSION_ID', value: '8849182c-82ad-4088-a07f-48ead4180515::hrs.local::1' }

const withUid = ({ _type, archetype_node_id, name, ...rest }: RmObject): RmObject => ({
  _type,
  archetype_node_id,
  name,
  uid: UID,
  ...rest,
})

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
      'As OPT 1.4. A template is never replaced; ids that differ only in case or spacing are the same.',
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
    description: 'As a web template (JSON), a tree for forms, or as it was uploaded (XML).',
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
    id: 'getTemplateExample',
    method: 'get',
    path: `${path}/{concept}/example`,
    params,
    query: exampleOptions,
    summary: 'Show an example of a composition of a template',
    description:
      'Made up. `required` has what must be there, `medium` each node once, `complete` each kind of value too; the first two can ' +
      'be stored as they are. As `output` it has a uid, as compositions have that are read.',
    source,
    access: 'user',
    reply: [200, raw('application/json', 'application/xml'), 'versioned'],
    handle: async ({ params: { concept }, query }, { caller, templates }) => {
      const { format = 'json', detail_level = 'required', type = 'input' } = query
      const { head, template } = await templates.get(caller, concept)
      const made = exampleOf(template, detail_level)
      const example = type === 'output' ? withUid(made) : made
      const xml = format === 'xml'
      const text = xml
        ? xmlOf(example, 'composition')
        : JSON.stringify(format === 'flat' ? flatOf(webTemplateOf(template), example) : example)
      return answer(text, {
        version: head.version,
        headers: { 'content-type': xml ? 'application/xml' : 'application/json' },
      })
    },
  }),
  operation({
    id: 'deleteTemplate',
    method: 'delete',
    path: `${path}/{concept}`,
    params,
    summary: 'Remove an operational template',
    description: 'Refused as long as there are compositions of it.',
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

const archetypePath = '/med/knowledge/archetype'
const oneArchetype = `${archetypePath}/{id}` as const
const archetypeParams = {
  id: Type.String({
    pattern: '^[A-Za-z0-9_.:-]{1,200}$',
    description: 'Id of the archetype',
    examples: ['openEHR-EHR-OBSERVATION.blood_pressure.v2'],
  }),
}
const adl = raw('text/plain')

export const archetypes = [
  array({
    id: 'listArchetypes',
    path: archetypePath,
    summary: 'List the archetypes that the templates are made of, and those in ADL',
    source,
    access: 'user',
    item: ArchetypeHead,
    handle: async ({ page }, { caller, archetypes }) =>
      pageAs(await archetypes.list(caller, page), archetypeOf),
  }),
  operation({
    id: 'addArchetype',
    method: 'post',
    path: archetypePath,
    summary: 'Store an archetype in ADL 1.4',
    description:
      'It is kept as it comes. What of its definition or its ontology cannot be read is a 422 with line and column. One that is stored is not replaced.',
    source: 'archetypes of modellers',
    extra: true,
    access: 'modeller',
    body: adl,
    limits: { bytes: 1024 * 1024 },
    reply: [201, ArchetypeHead, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ body }, { caller, archetypes, again }) => {
      const made = await archetypes.add(caller, body.bytes, again)
      return answer(archetypeOf(made), { version: 1, location: `${archetypePath}/${made.id}` })
    },
  }),
  operation({
    id: 'getArchetype',
    method: 'get',
    path: oneArchetype,
    params: archetypeParams,
    summary: 'Show an archetype with its nodes',
    description: 'As in its ADL, if that is stored, else as in the template that uses most of its nodes.',
    source,
    access: 'user',
    reply: [200, ArchetypeResource, 'versioned'],
    handle: async ({ params: { id } }, { caller, archetypes }) => {
      const { tree, ...archetype } = await archetypes.get(caller, id)
      const body = { ...archetypeOf(archetype), tree }
      // It is another one when a template comes or goes.
      const { head } = revalidated(JSON.stringify(body), 'application/json')
      return answer(body, { ...head, version: 1 })
    },
  }),
  operation({
    id: 'getArchetypeAdl',
    method: 'get',
    path: `${oneArchetype}/adl`,
    params: archetypeParams,
    summary: 'Show an archetype in ADL, as it came',
    source: 'archetypes of modellers',
    extra: true,
    access: 'user',
    reply: [200, adl, 'versioned'],
    handle: async ({ params: { id } }, { caller, archetypes }) => {
      const { head, bytes } = await archetypes.file(caller, id)
      return answer(bytes, { version: head.version })
    },
  }),
  operation({
    id: 'deleteArchetype',
    method: 'delete',
    path: oneArchetype,
    params: archetypeParams,
    summary: 'Remove the ADL of an archetype',
    description: 'Templates that are made of it stay as they are.',
    source: 'archetypes of modellers',
    extra: true,
    access: 'modeller',
    reply: [204],
    handle: ({ params: { id } }, { caller, archetypes, expected }) => archetypes.remove(caller, id, expected),
  }),
]
