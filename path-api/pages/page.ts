import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { Request } from 'express'
import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import { escapeMarkup } from '../../schemas/text/escape-markup.ts'
import { SERVICE_NAMES } from '../../schemas/text/service-name.ts'
import type { Context } from '../operation/context.ts'
import type { Terms } from '../operation/services.ts'
import { rawBody } from '../reply/body-media.ts'
import { type ReplyWithHead, replyWith } from '../reply/reply.ts'
import texts from './page-texts.json' with { type: 'json' }

export const htmlBody = rawBody('text/html')

/** Query parameter for the language of a page; {@link createPageView} defines the default. */
export const languageParameter = Type.Optional(
  Type.String({ maxLength: 35, format: 'line', description: 'Language of the page', examples: ['nl'] }),
)

const PAGE_STYLE = `:root{color-scheme:light dark;--text:#111;--back:#fff;--line:#bbb;--link:#0b5cad;--on:#fff;--bad:#a40000}
@media(prefers-color-scheme:dark){:root{--text:#eee;--back:#161616;--line:#555;--link:#7db8ff;--on:#111;--bad:#ff9a9a}}
body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:6vh auto;padding:0 1rem;color:var(--text);
background:var(--back);overflow-wrap:anywhere}a{color:var(--link)}h1{font-size:1.5rem}h2{font-size:1.2rem}
label{display:block;margin:1rem 0}input[type=email],input[data-show]{display:block;width:100%;font:inherit;
padding:.4rem;box-sizing:border-box}table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{text-align:left;
vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line);font-weight:normal}
thead th{font-weight:bold}button{font:inherit;padding:.5rem 1.5rem;background:var(--link);color:var(--on);border:0;
border-radius:.3rem;margin-right:.5rem}button.second{background:none;color:var(--link);
box-shadow:inset 0 0 0 1px}button.reveal{display:block;margin:-.6rem 0 1.2rem;padding:.2rem .8rem;font-size:.95rem}
button[aria-pressed=true]{background:var(--link);color:var(--on)}li,[role=alert]{color:var(--bad)}footer{margin-top:3rem;border-top:1px solid var(--line);
padding-top:.5rem;font-size:.9rem}.top{float:right;margin-left:1rem}th,.cards td{overflow-wrap:break-word}
@media(max-width:479px){.cards thead{position:absolute;clip-path:inset(50%)}.cards tr{display:block;
border:1px solid var(--line);border-radius:.3rem;margin:.8rem 0;padding:.4rem .6rem}.cards td,.cards th{display:block;
border:0;padding:.1rem 0}.cards [data-head]::before{content:attr(data-head) ": ";font-weight:bold}}`

/**
 * Converts times to the time zone of the reader; without scripts they stay in UTC. A time on the day of
 * `data-day` needs no date.
 */
const LOCAL_TIME_SCRIPT = `for(const time of document.querySelectorAll('time.utc')){
const at=new Date(time.dateTime),day=new Date(time.dataset.day);
const dateStyle=at.toDateString()===day.toDateString()?undefined:'long';
const lang=document.documentElement.lang;
time.textContent=new Intl.DateTimeFormat(lang==='en'?'en-GB':lang,{dateStyle,timeStyle:'short'}).format(at)}`

/** Adds a button to each password that shows what is typed. It is hidden again before it is sent. */
const SHOW_PASSWORD_SCRIPT = `for(const input of document.querySelectorAll('input[data-show]')){
const button=document.createElement('button');
const show=(isShown)=>{input.type=isShown?'text':'password';button.setAttribute('aria-pressed',isShown)};
Object.assign(button,{type:'button',className:'second reveal',textContent:input.dataset.show});
button.addEventListener('click',()=>show(input.type==='password'));
input.form.addEventListener('submit',()=>show(false));
show(false);input.labels[0].after(button)}`

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** The scripts of pages, each with the markup that needs it. */
const PAGE_SCRIPTS = [
  { marker: '<time class="utc"', script: LOCAL_TIME_SCRIPT },
  { marker: 'data-show="', script: SHOW_PASSWORD_SCRIPT },
].map((one) => ({ ...one, hash: hashOf(one.script) }))

/** Forbids other scripts, frames and sites. */
const PAGE_POLICY = `default-src 'none'; style-src ${hashOf(PAGE_STYLE)}; script-src ${PAGE_SCRIPTS.map(({ hash }) => hash).join(' ')}; base-uri 'none'; frame-ancestors 'none'`

/** Keeps the URL, which contains a token, out of the Referer. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `${PAGE_POLICY}; form-action 'self'`,
  'referrer-policy': 'no-referrer',
}

export type PageText = keyof (typeof texts)['en']

/** The language of pages that the client prefers; English if it accepts neither. */
export const acceptedLanguageOf = (request: Request): InterfaceLanguage =>
  request.acceptsLanguages('en', 'nl') === 'nl' ? 'nl' : 'en'

/** Dutch if requested, otherwise English. */
const pageLanguageOf = (tag: string): InterfaceLanguage => (/^nl\b/i.test(tag) ? 'nl' : 'en')

/** Language, time zone and links for rendering a page. */
export interface PageView {
  language: InterfaceLanguage
  /** Time zone of the user's profile; if undefined, the browser decides. */
  timeZone?: string | undefined
  terms: Terms | undefined
  appUrl?: string | undefined
  /**
   * Whether the response to a form may lead to an app. Browsers apply `form-action` to each redirect that follows, also to
   * those of the app, which nobody knows in advance.
   */
  formsLeadToApp?: boolean
  /** Whether a form of the page sets a cookie, so that browsers must tell the origin of the page. */
  formsSetCookie?: boolean
}

/** Chooses the language of the URL, otherwise of the user, otherwise of the browser. */
export async function createPageView(
  lang: string | undefined,
  {
    language,
    terms,
    appUrl,
    caller,
    profiles,
  }: Pick<Context<'optional'>, 'language' | 'terms' | 'appUrl' | 'caller' | 'profiles'>,
): Promise<PageView> {
  const tag = lang ?? (caller && (await profiles.persons.findLanguage(caller.userId)))
  const timeZone = caller && (await profiles.persons.findTimeZone(caller.userId))
  return { terms, appUrl, timeZone, language: tag === undefined ? language : pageLanguageOf(tag) }
}

/** Returns a text in the language of the page; `{name}` is replaced by a value. */
export const translate = (
  language: InterfaceLanguage,
  text: PageText,
  values: Readonly<Record<string, string>> = {},
): string =>
  texts[language][text].replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'service' ? SERVICE_NAMES[language] : (values[name] ?? ''),
  )

/** Returns the text for a name, or the name itself if there is none. */
export const translateName = (
  language: InterfaceLanguage,
  name: string,
  values?: Readonly<Record<string, string>>,
): string => (Object.hasOwn(texts.en, name) ? translate(language, name as PageText, values) : name)

/** HTML that needs no escaping. */
class Markup {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/** Template tag: escapes strings and inserts markup unchanged. */
export function markup(parts: TemplateStringsArray, ...values: (string | Markup | Markup[])[]): Markup {
  const source = (value: string | Markup | Markup[]): string =>
    [value]
      .flat()
      .map((one) => (one instanceof Markup ? one.source : escapeMarkup(one)))
      .join('')
  return new Markup(parts.map((part, i) => (i === 0 ? part : source(values[i - 1] ?? '') + part)).join(''))
}

/**
 * Renders a time in the time zone of the reader; if unknown, the browser converts it.
 * @param day a time shown beside it; the date is omitted if it is the same
 */
export function renderMoment(at: Date, { language, timeZone }: PageView, day?: Date): Markup {
  const iso = at.toISOString()
  if (timeZone === undefined)
    return markup`<time class="utc" datetime="${iso}"${day ? markup` data-day="${day.toISOString()}"` : ''}>${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
  const format = (style: Intl.DateTimeFormatOptions, moment = at) =>
    new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { ...style, timeZone }).format(moment)
  const isSameDay = day && format({ dateStyle: 'long' }) === format({ dateStyle: 'long' }, day)
  return markup`<time datetime="${iso}">${format({ timeStyle: 'short', ...(!isSameDay && { dateStyle: 'long' }) })}</time>`
}

export function renderPage(
  { language, terms, formsLeadToApp, formsSetCookie }: PageView,
  title: PageText,
  ...content: Markup[]
): ReplyWithHead<string, { headers: Record<string, string> }> {
  const heading = translate(language, title)
  // The heading of the start page is the name itself.
  const name = title === 'start' ? '' : SERVICE_NAMES[language]
  const foot = terms
    ? markup`<footer><a href="${terms.url}">${translate(language, 'termsOfService')}</a></footer>`
    : ''
  const scripts = PAGE_SCRIPTS.filter(({ marker }) => content.some(({ source }) => source.includes(marker)))
  const { source } = markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${name ? `${heading} – ${name}` : heading}</title><style>${new Markup(PAGE_STYLE)}</style></head>
<body>${name && markup`<header><strong>${name}</strong></header>`}<main><h1>${heading}</h1>
${content}
</main>${foot}
${scripts.map(({ script }) => markup`<script>${new Markup(script)}</script>`)}</body></html>
`
  return replyWith(source, {
    headers: {
      ...PAGE_HEADERS,
      ...(formsLeadToApp && { 'content-security-policy': PAGE_POLICY }),
      ...(formsSetCookie && { 'referrer-policy': 'same-origin' }),
    },
  })
}
