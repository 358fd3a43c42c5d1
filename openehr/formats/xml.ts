import { SaxesParser } from 'saxes'
import { ServiceError } from '../../schemas/errors.ts'

/** An element of a document: names without prefixes; `type` is the value of `xsi:type`. */
export interface XmlElement {
  name: string
  type: string | undefined
  attributes: Readonly<Record<string, string>>
  children: XmlElement[]
  /** The text directly inside it, unchanged. */
  text: string
}

/** More elements than any genuine document of a few MB has. */
const MAX_ELEMENTS = 400_000

/** Namespace of the reference model and of operational templates. Documents without a namespace are accepted, too. */
const OPENEHR_NAMESPACE = 'http://schemas.openehr.org/v1'
const XSI_NAMESPACE = 'http://www.w3.org/2001/XMLSchema-instance'
const XMLNS_NAMESPACE = 'http://www.w3.org/2000/xmlns/'

export const unreadableXml = (problem: string) =>
  new ServiceError('MalformedRequest', {
    violations: [{ path: '', code: 'xml', message: `is not valid XML: ${problem}` }],
  })

/**
 * Reads an XML document. It refuses document type declarations, and with them all entities except the five of
 * XML, before it reads further: so a document can neither expand nor refer to other files.
 *
 * @param depth maximum nesting of elements
 * @param isStored whether it is a document of an earlier version, which accepted every namespace
 * @throws MalformedRequest
 */
export function readXml(bytes: Uint8Array, depth: number, isStored = false): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: true })
  const open: XmlElement[] = []
  let root: XmlElement | undefined
  let count = 0
  parser.on('doctype', () => {
    throw unreadableXml('a document type declaration is not allowed')
  })
  parser.on('error', ({ message }) => {
    throw unreadableXml(message.replace(/\.$/, ''))
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (!isStored) requireNamespace(local, uri)
    if (++count > MAX_ELEMENTS) throw unreadableXml(`it has more than ${MAX_ELEMENTS} elements`)
    if (open.length >= depth) throw unreadableXml(`it is nested deeper than ${depth} levels`)
    const element = createElement(local, Object.values(attributes))
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
  })
  parser.on('text', (text) => addText(open.at(-1), text))
  parser.on('cdata', (text) => addText(open.at(-1), text))
  parser.on('closetag', () => void open.pop())
  parser.write(decodeXml(bytes)).close()
  if (root === undefined) throw unreadableXml('it has no element')
  return root
}

function requireNamespace(element: string, namespace: string): void {
  if (namespace === OPENEHR_NAMESPACE || namespace === '') return
  const message = `must be in the namespace ${OPENEHR_NAMESPACE}, or in none`
  throw new ServiceError('MalformedRequest', {
    violations: [{ path: element, code: 'namespace', message }],
  })
}

function createElement(
  name: string,
  xmlAttributes: readonly { local: string; uri: string; value: string }[],
): XmlElement {
  const attributes: Record<string, string> = Object.create(null)
  let type: string | undefined
  for (const { local, uri, value } of xmlAttributes) {
    if (uri === XSI_NAMESPACE && local === 'type') type = value.trim().replace(/^.*:/, '')
    else if (uri !== XMLNS_NAMESPACE && uri !== XSI_NAMESPACE) attributes[local] = value
  }
  return { name, type, attributes, children: [], text: '' }
}

function addText(element: XmlElement | undefined, text: string): void {
  if (element !== undefined && element.children.length === 0) element.text += text
}

/** Encodings that the XML declaration or byte-order mark may name. */
const ALLOWED_ENCODINGS = new Set([
  'utf-8',
  'utf-16',
  'utf-16le',
  'utf-16be',
  'us-ascii',
  'iso-8859-1',
  'windows-1252',
])

function decodeXml(bytes: Uint8Array): string {
  try {
    return new TextDecoder(detectEncoding(bytes), { fatal: true }).decode(bytes)
  } catch {
    throw unreadableXml('its bytes do not match its encoding')
  }
}

function detectEncoding(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1')
  const encoding = /^(?:\xef\xbb\xbf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.-]+)["']/
    .exec(head)?.[1]
    ?.toLowerCase()
  if (encoding === undefined) return 'utf-8'
  // The declaration was readable as single bytes, so the encoding cannot be UTF-16.
  if (!ALLOWED_ENCODINGS.has(encoding) || encoding.startsWith('utf-16'))
    throw unreadableXml('its encoding is not supported; use UTF-8')
  return encoding
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

/** Escapes a text between tags. */
export const escapeText = (text: string): string => text.replace(/[&<>\r]/g, (one) => ESCAPES[one] ?? one)

/** Escapes an attribute value. */
export const escapeAttribute = (text: string): string =>
  text.replace(/[&<>"\t\n\r]/g, (one) => ESCAPES[one] ?? one)
