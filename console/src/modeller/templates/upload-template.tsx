import { useQueryClient } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import { Link } from '../../browser/router.tsx'
import { api } from '../../session/user-session.ts'
import { translate, useText } from '../../texts/translate.ts'
import { describedBy, FieldFrame } from '../../ui/form/field.tsx'
import { fieldsProblem } from '../../ui/form/fields-problem.ts'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { TEMPLATES_KEY } from './templates-query.ts'

/** @throws Problem when the file has changed since it was chosen: browsers then refuse to read it */
const readFile = (input: HTMLInputElement, file: File): Promise<ArrayBuffer> =>
  file.arrayBuffer().catch(() => {
    // Otherwise browsers do not notice that it is chosen again.
    input.value = ''
    throw fieldsProblem([{ field: 'file', message: translate('templates.changed') }])
  })

/** Stores an operational template from a file. */
export function UploadTemplate() {
  const t = useText()
  const id = useId()
  const queries = useQueryClient()
  const input = useRef<HTMLInputElement>(null)
  const [templateId, setTemplateId] = useState<string>()
  const form = useSubmit(async () => {
    setTemplateId(undefined)
    const file = input.current?.files?.[0]
    if (!input.current || !file) return input.current?.focus()
    const headers = { 'content-type': 'application/xml' }
    const body = await readFile(input.current, file)
    const { data } = await api.POST('/med/knowledge/template', { body, headers })
    setTemplateId(data.template_id)
    await queries.invalidateQueries({ queryKey: TEMPLATES_KEY })
  })
  const { name, error } = form.field('file')
  const fieldProps = { label: t('templates.file'), help: t('templates.fileHelp'), error }
  return (
    <Form form={form} submit={t('templates.upload')}>
      {templateId !== undefined && (
        <p role="status" className="note">
          {t('templates.uploaded')}{' '}
          <Link to={`/templates/${encodeURIComponent(templateId)}`}>{templateId}</Link>
        </p>
      )}
      <FieldFrame id={id} {...fieldProps}>
        <input
          ref={input}
          {...{ id, name, type: 'file', accept: '.opt,.xml,application/xml', required: true }}
          {...describedBy(id, fieldProps)}
        />
      </FieldFrame>
    </Form>
  )
}
