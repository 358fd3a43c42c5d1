import { Type } from '@sinclair/typebox'
import { TemplateHead } from '../../../schemas/openehr/template.ts'
import { defineOperation } from '../../operation/operation.ts'
import { rawBody } from '../../reply/body-media.ts'
import { replyWith } from '../../reply/reply.ts'
import { SIMPLIFIED_TYPES } from '../openehr/composition-formats.ts'
import {
  exampleOptions,
  showExample,
  showTemplate,
  templateParams,
  toTemplateHead,
} from '../openehr/template.ts'
import { REST_PATH, restOperation } from './shared/rest-operation.ts'

const TEMPLATES_PATH = `${REST_PATH}/definition/template/adl1.4` as const
const TEMPLATE_PATH = `${TEMPLATES_PATH}/{templateId}` as const
const params = { templateId: templateParams.concept }
const WEB_TEMPLATE = 'application/openehr.wt+json'

/** An ETag with the id, since clients take it from there. */
const templateTag = (templateId: string): string => encodeURI(templateId).replaceAll('%20', ' ')

const replyWithShown = (
  { head, content }: { head: { templateId: string }; content: string | Buffer },
  { accepted }: { accepted: string },
  more: { location?: string } = {},
) =>
  replyWith(content, {
    version: templateTag(head.templateId),
    ...more,
    headers: { 'content-type': accepted, vary: 'Accept' },
  })

export const restTemplateOperations = [
  defineOperation({
    ...restOperation,
    id: 'uploadRestTemplate',
    method: 'post',
    path: TEMPLATES_PATH,
    summary: 'Upload an operational template (OPT 1.4)',
    access: 'modeller',
    body: rawBody('application/xml', 'text/xml'),
    limits: { bytes: 8 * 1024 * 1024 },
    reply: [201, rawBody('application/xml', WEB_TEMPLATE, 'application/json'), 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ body }, context) => {
      const { caller, templates, newId, preference } = context
      const { templateId } = await templates.add(caller, body.bytes, newId())
      const location = `${TEMPLATES_PATH}/${encodeURIComponent(templateId)}`
      return preference === 'representation'
        ? replyWithShown(await showTemplate(context, templateId), context, { location })
        : replyWith('', { version: templateTag(templateId), location, empty: true })
    },
  }),
  defineOperation({
    ...restOperation,
    id: 'listRestTemplates',
    method: 'get',
    path: TEMPLATES_PATH,
    summary: 'List the operational templates',
    access: 'user',
    reply: [200, Type.Array(TemplateHead, { description: 'All templates, by id' })],
    handle: async (_, { caller, templates }) => (await templates.all(caller)).map(toTemplateHead),
  }),
  defineOperation({
    ...restOperation,
    id: 'getRestTemplate',
    method: 'get',
    path: TEMPLATE_PATH,
    params,
    summary: 'Get an operational template, as uploaded (XML) or as a web template (JSON)',
    access: 'user',
    reply: [200, rawBody('application/xml', WEB_TEMPLATE, 'application/json'), 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { templateId } }, context) =>
      replyWithShown(await showTemplate(context, templateId), context),
  }),
  defineOperation({
    ...restOperation,
    id: 'getRestTemplateExample',
    method: 'get',
    path: `${TEMPLATE_PATH}/example`,
    params,
    query: exampleOptions,
    summary: 'Generate an example composition of a template',
    access: 'user',
    reply: [200, rawBody('application/json', 'application/xml', ...SIMPLIFIED_TYPES), 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { templateId }, query }, context) =>
      replyWithShown(await showExample(context, templateId, query), context),
  }),
]
