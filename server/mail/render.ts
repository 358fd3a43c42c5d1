import { type Template, type TemplateName, templates } from './templates.ts'

export interface Rendered {
  subject: string
  text: string
  html: string
}

/**
 * A template filled in, as text and as HTML.
 * @param language a language tag; its region is ignored (`nl-BE` is `nl`)
 * @throws Error when a value that the template names is missing
 */
export function render(
  name: TemplateName,
  language: string | undefined,
  data: Record<string, string>,
): Rendered {
  const wanted = language?.toLowerCase().split('-')[0]
  const chosen = wanted === 'nl' ? 'nl' : 'en'
  const { subject, before, action, after }: Template = templates[name][chosen]
  const plain = (line: string) => fill(line, data)
  const paragraphs = (lines: string[]) =>
    lines.map(plain).flatMap((line) => (line === '' ? [] : [`<p>${escapeHtml(line)}</p>`]))
  const link = action && `<p><a href="${escapeHtml(plain('{{link}}'))}">${escapeHtml(plain(action))}</a></p>`
  return {
    subject: plain(subject),
    text: [...before, ...(action ? ['{{link}}'] : []), ...after].map(plain).filter(Boolean).join('\n\n'),
    html: [
      `<!doctype html><html lang="${chosen}"><body style="font-family:sans-serif;line-height:1.5;max-width:36em">`,
      ...paragraphs(before),
      ...(link ? [link] : []),
      ...paragraphs(after),
      '</body></html>',
    ].join('\n'),
  }
}

function fill(text: string, data: Record<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = Object.hasOwn(data, name) ? data[name] : undefined
    if (value === undefined) throw new Error(`The mail needs the value ${name}`)
    return value
  })
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
