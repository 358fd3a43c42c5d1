import { createRequire } from 'node:module'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type sanitizeHtml from 'sanitize-html'
import { normalizeLanguageTag } from '../../../schemas/code-lists.ts'
import { ServiceError } from '../../../schemas/errors.ts'

/**
 * Converts a body to the complete stored resource: missing fields become null, HTML is sanitised, language
 * tags get their customary case.
 *
 * @throws RuleViolated when HTML is too long after sanitising
 */
export function normaliseBody<S extends TObject>(schema: S, body: object): Static<S> {
  return normaliseValue(schema, body, '') as Static<S>
}

function normaliseValue(schema: TSchema, value: unknown, path: string): unknown {
  if (value === undefined || value === null) return null
  if (schema.type === 'object') {
    const members = Object.entries<TSchema>(schema.properties).map(([name, member]) => [
      name,
      normaliseValue(
        member,
        (value as Record<string, unknown>)[name],
        path === '' ? name : `${path}.${name}`,
      ),
    ])
    return Object.fromEntries(members)
  }
  if (schema.contentMediaType === 'text/html')
    return sanitiseHtmlText(value as string, schema.maxLength, path)
  return schema.format === 'language-tag' ? normalizeLanguageTag(value as string) : value
}

const load = createRequire(import.meta.url)
/** Loaded on first use, so that the service starts quickly. */
const sanitizer = () => load('sanitize-html') as typeof sanitizeHtml

/**
 * Allows formatting, lists, tables and links to the web or to a mail address; nothing that loads, runs or
 * restyles.
 */
const ALLOWED_HTML: sanitizeHtml.IOptions = {
  allowedTags: [
    'p',
    'br',
    'hr',
    'div',
    'span',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'blockquote',
    'pre',
    'code',
    'b',
    'strong',
    'i',
    'em',
    'u',
    's',
    'small',
    'sub',
    'sup',
    'ul',
    'ol',
    'li',
    'dl',
    'dt',
    'dd',
    'table',
    'thead',
    'tbody',
    'tfoot',
    'tr',
    'th',
    'td',
    'caption',
    'a',
  ],
  allowedAttributes: { a: ['href'], th: ['colspan', 'rowspan'], td: ['colspan', 'rowspan'] },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
  nestingLimit: 50,
}

function sanitiseHtmlText(text: string, maxLength: number, path: string): string {
  const clean = sanitizer()(text, ALLOWED_HTML)
  if (clean.length <= maxLength) return clean
  const message = `must have at most ${maxLength} characters, written as HTML`
  throw new ServiceError('RuleViolated', { violations: [{ path, code: 'maxLength', message }] })
}
