import { createHash } from 'node:crypto'
import type { Language } from '../../schemas/code-lists.ts'
import { type Answer, answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import texts from './page-texts.json' with { type: 'json' }

export const html = raw('text/html')

const style = `body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:10vh auto;padding:0 1rem;color:#111}
h1{font-size:1.5rem}label{display:block;margin:1rem 0}input[type=password],input[type=email]{display:block;width:100%;
font:inherit;padding:.4rem;box-sizing:border-box}table{border-collapse:collapse;margin:1rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid #bbb}
button{font:inherit;padding:.5rem 1.5rem;background:#0b5cad;color:#fff;border:0;
border-radius:.3rem}li{color:#a40000}`
const styleHash = createHash('sha256').update(style).digest('base64')

/** No script, no frame, no other site; the address, which holds a token, goes nowhere. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

export type PageText = keyof (typeof texts)['en']

/** Dutch for who asks for Dutch, English for anyone else. */
export const languageOf = (tag: string | undefined): Language => (tag?.startsWith('nl') ? 'nl' : 'en')

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

/** A whole page. */
export function page(
  language: Language,
  title: PageText,
  ...content: Markup[]
): Answer<string, { headers: Record<string, string> }> {
  const heading = words(language, title)
  const { source } = markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${heading}</title><style>${new Markup(style)}</style></head>
<body><main><h1>${heading}</h1>
${content}
</main></body></html>
`
  return answer(source, { headers })
}
