import { queryOptions, useQuery } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { readAll } from '../../../session/list-pages.ts'
import { api } from '../../../session/user-session.ts'
import { currentLanguage, useText } from '../../../texts/translate.ts'
import { SelectField } from '../../../ui/form/field.tsx'
import { Loaded } from '../../../ui/loaded.tsx'

type Template = components['schemas']['CarePlanTemplate']

const templatesQuery = (language: string) =>
  queryOptions({
    queryKey: ['care-plan templates', language],
    queryFn: () =>
      readAll((page) => api.GET('/ehr/careplan/template', { params: { query: { ...page, language } } })),
    staleTime: Number.POSITIVE_INFINITY,
  })

interface TemplateChoiceProps {
  /** Id of the template; empty: none. */
  value: string
  onChange: (id: string) => void
  /** The label for choosing none. */
  none: string
}

/** A choice among the care-plan templates; it shows the goals of the chosen one. */
export function TemplateChoice({ value, onChange, none }: TemplateChoiceProps) {
  const t = useText()
  const templates = useQuery(templatesQuery(currentLanguage()))
  return (
    <Loaded query={templates}>
      {(items) => (
        <>
          <SelectField
            label={t('plan.template')}
            value={value}
            options={[
              { value: '', label: none },
              ...items.map(({ id, name }) => ({ value: id, label: name })),
            ]}
            onChange={onChange}
          />
          <TemplateSummary template={items.find(({ id }) => id === value)} />
        </>
      )}
    </Loaded>
  )
}

function TemplateSummary({ template }: { template: Template | undefined }) {
  return (
    template && (
      <div className="panel">
        <p>{template.description}</p>
        <ul>
          {template.goals.map(({ name }) => (
            <li key={name}>{name}</li>
          ))}
        </ul>
      </div>
    )
  )
}
