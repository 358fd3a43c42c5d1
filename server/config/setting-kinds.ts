import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { fullFormats } from 'ajv-formats/dist/formats.js'

/** Parses the text of a setting; `undefined` means invalid. Describes the valid form in words. */
export interface SettingKind<T> {
  mustBe: string
  read(text: string): T | undefined
}

export const createWholeNumberKind = (least: number, most: number): SettingKind<number> => ({
  mustBe: `a whole number from ${least} to ${most}`,
  read: (text) => {
    const value = Number(text)
    return /^\d{1,9}$/.test(text) && value >= least && value <= most ? value : undefined
  },
})

export const createChoiceKind = <const T extends string>(...choices: T[]): SettingKind<T> => ({
  mustBe: `one of ${choices.join(', ')}`,
  read: (text) => choices.find((choice) => choice === text),
})

export const hostName: SettingKind<string> = {
  mustBe: 'a host name or an IP address',
  read: (text) =>
    isIP(text) || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/.test(text) ? text : undefined,
}

/** Part of the uid of every version: `::` separates the parts, so an IPv6 address would break them. */
export const systemId: SettingKind<string> = {
  mustBe: 'a host name or an IPv4 address',
  read: (text) => (text.includes(':') ? undefined : hostName.read(text)),
}

export const directory: SettingKind<string> = {
  mustBe: 'a path',
  read: (text) => (text.trim() === '' || text.includes('\0') ? undefined : resolve(text)),
}

/** URLs and origins are public: passwords do not belong there, and browsers name none in an origin. */
const parsePublicUrl = (text: string): URL | undefined => {
  const url = parseUrl(text, 'http:', 'https:')
  return url && `${url.search}${url.hash}${url.username}${url.password}` === '' ? url : undefined
}

/** A URL without query, fragment, user or trailing slash. */
export const webUrl: SettingKind<string> = {
  mustBe: 'an http:// or https:// URL without a query, a user or a password',
  read: (text) => parsePublicUrl(text)?.href.replace(/(?<!\/)\/+$/, ''),
}

/** Below these paths a request could mean two operations: `/med/ehr/{ehrId}`, and `/ehr/{ehrId}` below `/med`. */
const AMBIGUOUS_PATHS = ['/med', '/chat', '/metrics']

export const serviceUrl: SettingKind<string> = {
  mustBe: `${webUrl.mustBe}; its path is not /med, /chat or /metrics`,
  read: (text) => {
    const url = webUrl.read(text)
    return url && AMBIGUOUS_PATHS.includes(new URL(url).pathname.toLowerCase()) ? undefined : url
  },
}

export const origins: SettingKind<string[]> = {
  mustBe: 'origins such as https://app.example.org, separated by commas',
  read: (text) => {
    const list = text.split(',').map((origin) => parsePublicUrl(origin.trim()))
    return list.every((url) => url !== undefined && url.pathname === '/')
      ? list.flatMap((url) => (url ? [url.origin] : []))
      : undefined
  },
}

export const smtpUrl: SettingKind<string> = {
  mustBe: 'an smtp:// or smtps:// URL',
  read: (text) => (parseUrl(text, 'smtp:', 'smtps:')?.hostname ? text : undefined),
}

/** A MongoDB URI may have several hosts, so the URL parser does not accept it. */
export const mongodbUri: SettingKind<string> = {
  mustBe: 'a mongodb:// or mongodb+srv:// URI that names a database',
  read: (text) => (/^mongodb(\+srv)?:\/\/[^/?\s]+\/[^/?\s."$*<>:|]+(\?\S*)?$/.test(text) ? text : undefined),
}

export const mailbox: SettingKind<string> = {
  mustBe: 'a mail address, or a name and a mail address in angle brackets',
  read: (text) => (/^([^<>\r\n]* <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(text) ? text : undefined),
}

export const mailAddress: SettingKind<string> = {
  mustBe: 'a mail address',
  read: (text) => (/^[\x21-\x3b\x3d\x3f\x41-\x7e]+@[A-Za-z0-9.-]+$/.test(text) ? text : undefined),
}

/** As strict as the address of an account. */
export const accountAddress: SettingKind<string> = {
  mustBe: 'a mail address with a full domain, such as admin@example.org',
  read: (text) => (text.length <= 254 && (fullFormats.email as RegExp).test(text) ? text : undefined),
}

/** Used in URLs and JSON documents, so the alphabet is narrow. */
export const key: SettingKind<string> = {
  mustBe: '16 to 200 letters, digits, - or _',
  read: (text) => (/^[\w-]{16,200}$/.test(text) ? text : undefined),
}

export const keys: SettingKind<string[]> = {
  mustBe: 'keys of 16 to 200 letters, digits, - or _, separated by commas',
  read: (text) => {
    const list = text.split(',').map((each) => key.read(each.trim()))
    return list.every((each) => each !== undefined) ? list : undefined
  },
}

/** Not secret; an existing app brings its own id. */
export const applicationId: SettingKind<string> = {
  mustBe: '1 to 200 visible characters',
  read: (text) => (/^[\x21-\x7e]{1,200}$/.test(text) ? text : undefined),
}

/** In the form of Express: number of proxies, or their addresses. */
export const trustedProxies: SettingKind<false | number | string[]> = {
  mustBe: 'false, the number of proxies in front (1 to 9), or their addresses separated by commas',
  read: (text) => {
    if (text === 'false') return false
    if (/^[1-9]$/.test(text)) return Number(text)
    const list = text.split(',').map((address) => address.trim())
    return list.every(isAddressRange) ? list : undefined
  },
}

function isAddressRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  return (
    version > 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  )
}

function parseUrl(text: string, ...protocols: string[]): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && protocols.includes(url.protocol) ? url : undefined
}

export const versionName: SettingKind<string> = {
  mustBe: '1 to 50 letters, digits, dots, - or _',
  read: (text) => (/^[\w.-]{1,50}$/.test(text) ? text : undefined),
}

export const visibleText: SettingKind<string> = {
  mustBe: '1 to 500 visible characters',
  read: (text) => (/^[\x21-\x7e]{1,500}$/.test(text) ? text : undefined),
}

export const visibleTexts: SettingKind<string[]> = {
  mustBe: 'texts of visible characters, separated by commas',
  read: (text) => {
    const list = text.split(',').map((entry) => entry.trim())
    return text.length <= 2000 && list.every((entry) => /^[\x21-\x7e]+$/.test(entry)) ? list : undefined
  },
}
