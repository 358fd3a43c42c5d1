import { useQueryClient } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import { Link } from '../../browser/router.tsx'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { describedBy, FieldFrame } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { TEMPLATES_KEY } from './templates-query.ts'

/** Stores an operational template from a file. */
export function UploadTemplate() {
  const t = useText()
  const id = useId()
  const queries = useQueryClient()
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<File>()
  const [stored, setStored] = useState<string>()
  const form = useSubmit(async () => {
    setStored(undefined)
    if (!file) return input.current?.focus()
    const headers = { 'content-type': 'application/xml' }
    const { data } = await api.POST('/med/knowledge/template', { body: file, headers })
    setStored(data.template_id)
    await queries.invalidateQueries({ queryKey: TEMPLATES_KEY })
  })
  const about = { label: t('templates.file'), help: t('templates.fileHelp') }
  return (
    <Form form={form} submit={t('templates.upload')}>
      {stored !== undefined && (
        <p role="status" className="note">
          {t('templates.uploaded')} <Link to={`/templates/${encodeURIComponent(stored)}`}>{stored}</Link>
        </p>
      )}
      <FieldFrame id={id} {...about}>
        <input
          ref={input}
          {...{ id, name: 'file', type: 'file', accept: '.opt,.xml,application/xml', required: true }}
          onChange={(event) => setFile(event.target.files?.[0])}
          {...describedBy(id, about)}
        />
      </FieldFrame>
    </Form>
  )
}
