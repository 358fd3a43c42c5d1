import { type SchemaOptions, type Static, type TObject, Type } from '@sinclair/typebox'
import { createExample } from '../../../openehr/examples/example-composition.ts'
import type { RmObject } from '../../../openehr/rm/canonical-json.ts'
import { toWebTemplate } from '../../../openehr/simplified/forms/web-template.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { ArchetypeHead, ArchetypeResource, TemplateHead } from '../../../schemas/openehr/template.ts'
import type { Context } from '../../operation/context.ts'
import { defineArrayOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { rawBody } from '../../reply/body-media.ts'
import { replyWithCacheableText } from '../../reply/cacheable-text.ts'
import { replyWith } from '../../reply/reply.ts'
import { COMPOSITION_TYPES, writeComposition } from './composition-formats.ts'

const templatesSource = 'Endpoints, Medical data'
const templatesPath = '/med/knowledge/template'

export const templateParams = {
  concept: Type.String({
    pattern: '^[^/\\\\\\p{Cc}]{1,255}$',
    documented: { minLength: 1, maxLength: 255 },
    inWords: '1 to 255 characters, no slash, backslash or control character',
    description:
      'Id of the template, regardless of case and spacing; or its concept, exactly as the list shows it',
    examples: ['vital_signs.v2'],
  }),
}

const optionalEnumParameter = <const T extends readonly string[]>(names: T, more: SchemaOptions) =>
  Type.Optional(Type.Unsafe<T[number]>({ type: 'string', enum: [...names], ...more }))

const exampleFormat = optionalEnumParameter(['json', 'xml', 'flat', 'structured'], {
  description:
    'Format: canonical JSON, XML, or JSON by the ids of the web template: with a line for each value, or nested. By default JSON or XML, as the header Accept prefers',
})

export const exampleOptions = {
  detail_level: optionalEnumParameter(['required', 'medium', 'complete'], {
    default: 'required',
    description: 'Level of detail',
  }),
  type: optionalEnumParameter(['input', 'output'], {
    default: 'input',
    description: 'Form of the example: as sent, or as read',
  }),
}

/** Uid of the example composition. */
const EXAMPLE_UID = {
  _type: 'OBJECT_VERSION_ID',
  value: '8849182c-82ad-4088-a07f-48ead4180515::hrs.local::1',
}

const withExampleUid = ({ _type, archetype_node_id, name, ...rest }: RmObject): RmObject => ({
  _type,
  archetype_node_id,
  name,
  uid: EXAMPLE_UID,
  ...rest,
})

export const toTemplateHead = ({
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

type ReadContext = Pick<Context<'user'>, 'caller' | 'templates' | 'accepted'>

/** A template in the accepted format: as uploaded, or as a web template. */
export async function showTemplate({ caller, templates, accepted }: ReadContext, name: string) {
  if (accepted !== 'application/xml') {
    const { head, template } = await templates.get(caller, name)
    return { head, content: JSON.stringify(toWebTemplate(template)) }
  }
  const { head, bytes } = await templates.file(caller, name)
  return { head, content: bytes }
}

/** An example composition of a template. @param accepted its media type */
export async function showExample(
  { caller, templates, accepted }: ReadContext,
  name: string,
  { detail_level = 'required', type }: Partial<Static<TObject<typeof exampleOptions>>>,
) {
  const { head, template } = await templates.get(caller, name)
  const composition = createExample(template, detail_level)
  const example = type === 'output' ? withExampleUid(composition) : composition
  return { head, content: writeComposition(template, example, accepted) }
}

export const templateOperations = [
  defineOperation({
    id: 'addTemplate',
    method: 'post',
    path: templatesPath,
    summary: 'Upload an operational template',
    description:
      'The format is OPT 1.4. A template is never replaced; ids that differ only in case or spacing count as equal.',
    source: templatesSource,
    access: 'modeller',
    body: rawBody('application/xml', 'text/xml'),
    limits: { bytes: 8 * 1024 * 1024 },
    reply: [201, TemplateHead, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ body }, { caller, templates, newId }) => {
      const head = await templates.add(caller, body.bytes, newId())
      const location = `${templatesPath}/${encodeURIComponent(head.templateId)}`
      return replyWith(toTemplateHead(head), { version: head.version, location })
    },
  }),
  defineArrayOperation({
    id: 'listTemplates',
    path: templatesPath,
    summary: 'List the operational templates',
    source: templatesSource,
    access: 'user',
    item: TemplateHead,
    handle: async ({ page }, { caller, templates }) =>
      mapPage(await templates.list(caller, page), toTemplateHead),
  }),
  defineOperation({
    id: 'getTemplate',
    method: 'get',
    path: `${templatesPath}/{concept}`,
    params: templateParams,
    summary: 'Get an operational template',
    description:
      'Returns a web template (JSON, a tree for forms) or the uploaded template (XML). A concept of several templates gets a 409.',
    source: templatesSource,
    access: 'user',
    reply: [200, rawBody('application/json', 'application/xml'), 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { concept } }, context) => {
      const { head, content } = await showTemplate(context, concept)
      const headers = { 'content-type': context.accepted, vary: 'Accept' }
      return replyWith(content, { version: head.version, headers })
    },
  }),
  defineOperation({
    id: 'getTemplateExample',
    method: 'get',
    path: `${templatesPath}/{concept}/example`,
    params: templateParams,
    query: { format: exampleFormat, ...exampleOptions },
    summary: 'Generate an example composition of a template',
    description:
      'The data is invented. `required` contains the mandatory nodes, `medium` each node once, `complete` also each type of ' +
      'value. The first two can be stored unchanged. As `output` the example has a uid, like a stored composition.',
    source: templatesSource,
    access: 'user',
    reply: [200, rawBody('application/json', 'application/xml'), 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { concept }, query: { format, ...options } }, context) => {
      const { caller, templates, accepts } = context
      const type =
        format === undefined ? context.accepted : COMPOSITION_TYPES[format === 'xml' ? 'xml' : 'json']
      if (!accepts(type))
        throw new ServiceError('NotAcceptable', { detail: `The format ${format} is ${type}.` })
      const accepted = format === undefined ? type : COMPOSITION_TYPES[format]
      const { head, content } = await showExample({ caller, templates, accepted }, concept, options)
      return replyWith(content, { version: head.version, headers: { 'content-type': type, vary: 'Accept' } })
    },
  }),
  defineOperation({
    id: 'deleteTemplate',
    method: 'delete',
    path: `${templatesPath}/{concept}`,
    params: templateParams,
    summary: 'Delete an operational template',
    description: 'Rejected while compositions of the template exist.',
    source: templatesSource,
    access: 'modeller',
    reply: [204],
    errors: ['Conflict'],
    handle: ({ params: { concept } }, { caller, templates, ifMatch }) =>
      templates.remove(caller, concept, ifMatch),
  }),
]

const toArchetypeHead = ({
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

const archetypesPath = '/med/knowledge/archetype'
const archetypePath = `${archetypesPath}/{id}` as const
const archetypeParams = {
  id: Type.String({
    pattern: '^[A-Za-z0-9_.:-]{1,200}$',
    description: 'Id of the archetype',
    examples: ['openEHR-EHR-OBSERVATION.blood_pressure.v2'],
  }),
}
const adlBody = rawBody('text/plain')

export const archetypeOperations = [
  defineArrayOperation({
    id: 'listArchetypes',
    path: archetypesPath,
    summary: 'List the archetypes of the templates and those stored in ADL',
    source: templatesSource,
    access: 'user',
    item: ArchetypeHead,
    handle: async ({ page }, { caller, archetypes }) =>
      mapPage(await archetypes.list(caller, page), toArchetypeHead),
  }),
  defineOperation({
    id: 'addArchetype',
    method: 'post',
    path: archetypesPath,
    summary: 'Upload an archetype in ADL 1.4',
    description:
      'The text is stored unchanged. Errors in the definition or the ontology get a 422 with line and column. A stored archetype is not replaced.',
    source: 'archetypes of modellers',
    extra: true,
    access: 'modeller',
    body: adlBody,
    limits: { bytes: 1024 * 1024 },
    reply: [201, ArchetypeHead, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ body }, { caller, archetypes, isRetry }) => {
      const archetype = await archetypes.add(caller, body.bytes, isRetry)
      return replyWith(toArchetypeHead(archetype), {
        version: 1,
        location: `${archetypesPath}/${archetype.id}`,
      })
    },
  }),
  defineOperation({
    id: 'getArchetype',
    method: 'get',
    path: archetypePath,
    params: archetypeParams,
    summary: 'Get an archetype with its nodes',
    description:
      'The nodes come from the ADL if it is stored, otherwise from the template that uses most nodes of the archetype.',
    source: templatesSource,
    access: 'user',
    reply: [200, ArchetypeResource, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { id } }, { caller, archetypes }) => {
      const { tree, ...archetype } = await archetypes.get(caller, id)
      const body = { ...toArchetypeHead(archetype), tree }
      // The list changes when a template is added or removed.
      const { head } = replyWithCacheableText(JSON.stringify(body), 'application/json')
      return replyWith(body, { ...head, version: 1 })
    },
  }),
  defineOperation({
    id: 'getArchetypeAdl',
    method: 'get',
    path: `${archetypePath}/adl`,
    params: archetypeParams,
    summary: 'Get the ADL of an archetype',
    source: 'archetypes of modellers',
    extra: true,
    access: 'user',
    reply: [200, adlBody, 'versioned'],
    handle: async ({ params: { id } }, { caller, archetypes }) => {
      const { head, bytes } = await archetypes.file(caller, id)
      return replyWith(bytes, { version: head.version })
    },
  }),
  defineOperation({
    id: 'deleteArchetype',
    method: 'delete',
    path: archetypePath,
    params: archetypeParams,
    summary: 'Delete the ADL of an archetype',
    description: 'Templates that use it stay unchanged.',
    source: 'archetypes of modellers',
    extra: true,
    access: 'modeller',
    reply: [204],
    handle: ({ params: { id } }, { caller, archetypes, ifMatch }) => archetypes.remove(caller, id, ifMatch),
  }),
]
