import type { Static, TObject, TSchema } from '@sinclair/typebox'
import sanitizeHtml from 'sanitize-html'
import { customaryTag } from '../../../schemas/code-lists.ts'
import { ServiceError } from '../../../schemas/errors.ts'

/**
 * A body as the complete resource that is stored: what is left out is null, HTML is sanitised, language tags have
 * their customary case.
 *
 * @throws RuleViolated when HTML is too long once it is sanitised
 */
export function normalised<S extends TObject>(schema: S, body: object): Static<S> {
  return normalisedValue(schema, body, '') as Static<S>
}

function normalisedValue(schema: TSchema, value: unknown, path: string): unknown {
  if (value === undefined || value === null) return null
  if (schema.type === 'object') {
    const members = Object.entries<TSchema>(schema.properties).map(([name, member]) => [
      name,
      normalisedValue(
        member,
        (value as Record<string, unknown>)[name],
        path === '' ? name : `${path}.${name}`,
      ),
    ])
    return Object.fromEntries(members)
  }
  if (schema.contentMediaType === 'text/html') return sanitised(value as string, schema.maxLength, path)
  return schema.format === 'language-tag' ? customaryTag(value as string) : value
}

/** Formatting, lists, tables and links to the web or to a mail address; nothing that loads, runs or restyles. */
const harmless: sanitizeHtml.IOptions = {
  allowedTags: [
    ...['p', 'br', 'hr', 'div', 'span', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'pre', 'code'],
    ...['b', 'strong', 'i', 'em', 'u', 's', 'small', 'sub', 'sup', 'ul', 'ol', 'li', 'dl', 'dt', 'dd'],
    ...['table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'caption', 'a'],
  ],
  allowedAttributes: { a: ['href'], th: ['colspan', 'rowspan'], td: ['colspan', 'rowspan'] },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
  nestingLimit: 50,
}

function sanitised(text: string, maxLength: number, path: string): string {
  const clean = sanitizeHtml(text, harmless)
  if (clean.length <= maxLength) return clean
  const message = `must have at most ${maxLength} characters, written as HTML`
  throw new ServiceError('RuleViolated', { violations: [{ path, code: 'maxLength', message }] })
}
