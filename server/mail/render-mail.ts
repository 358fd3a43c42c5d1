import { escapeMarkup } from '../../schemas/text/escape-markup.ts'
import { type MailTemplate, mailTemplates, type TemplateName } from './mail-templates.ts'

export interface RenderedMail {
  subject: string
  text: string
  html: string
}

/**
 * Renders a template as text and HTML.
 * @param language a language tag; its region is ignored (`nl-BE` is `nl`)
 * @throws Error when a value of the template is missing
 */
export function renderMail(
  name: TemplateName,
  language: string | undefined,
  data: Record<string, string>,
): RenderedMail {
  const primaryLanguage = language?.toLowerCase().split('-')[0]
  const mailLanguage = primaryLanguage === 'nl' ? 'nl' : 'en'
  const {
    subject,
    before,
    action,
    link = '{{link}}',
    after,
  }: MailTemplate = mailTemplates[name][mailLanguage]
  const plain = (line: string) => fillTemplate(line, data)
  const url = action ? plain(link) : ''
  const paragraphs = (lines: string[]) =>
    lines.map(plain).flatMap((line) => (line === '' ? [] : [`<p>${escapeMarkup(line)}</p>`]))
  const anchor =
    action && url ? [`<p><a href="${escapeMarkup(url)}">${escapeMarkup(plain(action))}</a></p>`] : []
  return {
    subject: plain(subject),
    text: [...before.map(plain), url, ...after.map(plain)].filter(Boolean).join('\n\n'),
    html: [
      `<!doctype html><html lang="${mailLanguage}"><body style="font-family:sans-serif;line-height:1.5;max-width:36em">`,
      ...paragraphs(before),
      ...anchor,
      ...paragraphs(after),
      '</body></html>',
    ].join('\n'),
  }
}

function fillTemplate(text: string, data: Record<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = Object.hasOwn(data, name) ? data[name] : undefined
    if (value === undefined) throw new Error(`The mail needs the value ${name}`)
    return value
  })
}
