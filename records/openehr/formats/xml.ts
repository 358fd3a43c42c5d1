import { SaxesParser } from 'saxes'
import { ServiceError } from '../../../schemas/errors.ts'

/** An element of a document: names without their prefixes; `type` is what `xsi:type` says. */
export interface XmlElement {
  name: string
  type: string | undefined
  attributes: Readonly<Record<string, string>>
  children: XmlElement[]
  /** The text directly inside it, as it stands. */
  text: string
}

/** More than any document of a few MB that somebody means. */
const MOST_ELEMENTS = 400_000

const XSI = 'http://www.w3.org/2001/XMLSchema-instance'
const XMLNS = 'http://www.w3.org/2000/xmlns/'

export const unreadable = (what: string) =>
  new ServiceError('MalformedRequest', {
    violations: [{ path: '', code: 'xml', message: `cannot be read: ${what}` }],
  })

/**
 * Reads an XML document. Nothing in it reaches out of it or grows: a document type declaration, and with it every entity
 * but the five of XML, is refused before anything behind it is read.
 *
 * @param depth how deeply elements may be nested
 * @throws MalformedRequest
 */
export function readXml(bytes: Uint8Array, depth: number): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: true })
  const open: XmlElement[] = []
  let root: XmlElement | undefined
  let count = 0
  parser.on('doctype', () => {
    throw unreadable('a document type declaration is not allowed')
  })
  parser.on('error', ({ message }) => {
    throw unreadable(message.replace(/\.$/, ''))
  })
  parser.on('opentag', ({ local, attributes }) => {
    if (++count > MOST_ELEMENTS) throw unreadable(`it has more than ${MOST_ELEMENTS} elements`)
    if (open.length >= depth) throw unreadable(`it is nested deeper than ${depth} levels`)
    const element = elementOf(local, Object.values(attributes))
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
  })
  parser.on('text', (text) => addText(open.at(-1), text))
  parser.on('cdata', (text) => addText(open.at(-1), text))
  parser.on('closetag', () => void open.pop())
  parser.write(decoded(bytes)).close()
  if (root === undefined) throw unreadable('it has no element')
  return root
}

function elementOf(
  name: string,
  given: readonly { local: string; uri: string; value: string }[],
): XmlElement {
  const attributes: Record<string, string> = Object.create(null)
  let type: string | undefined
  for (const { local, uri, value } of given) {
    if (uri === XSI && local === 'type') type = value.trim().replace(/^.*:/, '')
    else if (uri !== XMLNS && uri !== XSI) attributes[local] = value
  }
  return { name, type, attributes, children: [], text: '' }
}

function addText(element: XmlElement | undefined, text: string): void {
  if (element !== undefined && element.children.length === 0) element.text += text
}

/** Encodings that the declaration, or the mark at the beginning, may name. */
const ENCODINGS = new Set([
  'utf-8',
  'utf-16',
  'utf-16le',
  'utf-16be',
  'us-ascii',
  'iso-8859-1',
  'windows-1252',
])

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes)
  } catch {
    throw unreadable('it is not in its encoding')
  }
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1')
  const named = /^(?:\xef\xbb\xbf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.-]+)["']/
    .exec(head)?.[1]
    ?.toLowerCase()
  if (named === undefined) return 'utf-8'
  // Read so far as single bytes, it cannot be one of two bytes.
  if (!ENCODINGS.has(named) || named.startsWith('utf-16')) throw unreadable('its encoding is not known')
  return named
}
const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** A text as it stands between tags. */
export const escapedText = (text: string): string => text.replace(/[&<>\r]/g, (one) => ESCAPES[one] ?? one)

/** A text as it stands within the quotes of an attribute. */
export const escapedAttribute = (text: string): string =>
  text.replace(/[&<>"\t\n\r]/g, (one) => ESCAPES[one] ?? one)
