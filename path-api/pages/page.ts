import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { Language } from '../../schemas/code-lists.ts'
import { type Answer, answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import type { Context } from '../operation/context.ts'
import type { Terms } from '../operation/services.ts'
import texts from './page-texts.json' with { type: 'json' }

export const html = raw('text/html')

/** The query parameter that names a page's language; {@link viewOf} says what goes without it. */
export const lang = Type.Optional(
  Type.String({ maxLength: 35, description: 'Language of the page', examples: ['nl'] }),
)

const style = `:root{color-scheme:light dark;--text:#111;--back:#fff;--line:#bbb;--link:#0b5cad;--on:#fff;--bad:#a40000}
@media(prefers-color-scheme:dark){:root{--text:#eee;--back:#161616;--line:#555;--link:#7db8ff;--on:#111;--bad:#ff9a9a}}
body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:6vh auto;padding:0 1rem;color:var(--text);
background:var(--back);overflow-wrap:anywhere}a{color:var(--link)}h1{font-size:1.5rem}h2{font-size:1.2rem}
label{display:block;margin:1rem 0}input[type=password],input[type=email]{display:block;width:100%;font:inherit;
padding:.4rem;box-sizing:border-box}table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{text-align:left;
vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line);font-weight:normal}
thead th{font-weight:bold}button{font:inherit;padding:.5rem 1.5rem;background:var(--link);color:var(--on);border:0;
border-radius:.3rem}li,[role=alert]{color:var(--bad)}footer{margin-top:3rem;border-top:1px solid var(--line);
padding-top:.5rem;font-size:.9rem}.top{float:right;margin-left:1rem}.cards td,.cards th{overflow-wrap:break-word}
@media(max-width:479px){.cards thead{position:absolute;clip-path:inset(50%)}.cards tr{display:block;
border:1px solid var(--line);border-radius:.3rem;margin:.8rem 0;padding:.4rem .6rem}.cards td,.cards th{display:block;
border:0;padding:.1rem 0}.cards [data-head]::before{content:attr(data-head) ": ";font-weight:bold}}`
const styleHash = createHash('sha256').update(style).digest('base64')

/** Shows the moments of a page in the time zone of whoever reads it; without scripts they stay in UTC. */
const localTimes = `for(const time of document.querySelectorAll('time.utc')){
time.textContent=new Intl.DateTimeFormat(document.documentElement.lang,{dateStyle:'medium',timeStyle:'short'}).format(
new Date(time.dateTime))}`
const scriptHash = createHash('sha256').update(localTimes).digest('base64')

/** No other script, no frame, no other site; the address, which holds a token, goes nowhere. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; script-src 'sha256-${scriptHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

export type PageText = keyof (typeof texts)['en']

/** Dutch for who asks for Dutch, English for anyone else. */
const languageOf = (tag: string): Language => (/^nl\b/i.test(tag) ? 'nl' : 'en')

/** How a page is shown: in which language, and where the terms are. */
export interface View {
  language: Language
  /** That of the user's profile; without one the browser knows. */
  timeZone?: string | undefined
  terms: Terms | undefined
}

/** The language that the address names, else that of the user, else the one that the browser likes best. */
export async function viewOf(
  lang: string | undefined,
  {
    language,
    terms,
    caller,
    profiles,
  }: Pick<Context<'optional'>, 'language' | 'terms' | 'caller' | 'profiles'>,
): Promise<View> {
  const chosen = lang ?? (caller && (await profiles.persons.languageOf(caller.userId)))
  const timeZone = caller && (await profiles.persons.timeZoneOf(caller.userId))
  return { terms, timeZone, language: chosen === undefined ? language : languageOf(chosen) }
}

/** A sentence in the page's language. */
export const words = (language: Language, text: PageText): string => texts[language][text]

/** The sentence or word for it, or the name itself where there is none. */
export const wordsFor = (language: Language, name: string): string =>
  Object.hasOwn(texts.en, name) ? words(language, name as PageText) : name

/** Markup, as opposed to text. */
class Markup {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/** Markup with values in it: texts are escaped, markup and lists of markup stay as they are. */
export function markup(parts: TemplateStringsArray, ...values: (string | Markup | Markup[])[]): Markup {
  const source = (value: string | Markup | Markup[]): string =>
    [value]
      .flat()
      .map((one) => (one instanceof Markup ? one.source : escaped(one)))
      .join('')
  return new Markup(parts.map((part, i) => (i === 0 ? part : source(values[i - 1] ?? '') + part)).join(''))
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** A moment in the reader's time zone; where only their browser knows it, that shows it. */
export function moment(at: Date, { language, timeZone }: View): Markup {
  const iso = at.toISOString()
  if (timeZone === undefined)
    return markup`<time class="utc" datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone })
  return markup`<time datetime="${iso}">${format.format(at)}</time>`
}

/** A whole page. */
export function page(
  { language, terms }: View,
  title: PageText,
  ...content: Markup[]
): Answer<string, { headers: Record<string, string> }> {
  const heading = words(language, title)
  const foot = terms
    ? markup`<footer><a href="${terms.url}">${words(language, 'termsOfService')}</a></footer>`
    : ''
  const { source } = markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${heading}</title><style>${new Markup(style)}</style></head>
<body><main><h1>${heading}</h1>
${content}
</main>${foot}
${content.some(({ source }) => source.includes('<time class="utc"')) ? markup`<script>${new Markup(localTimes)}</script>` : ''}</body></html>
`
  return answer(source, { headers })
}
