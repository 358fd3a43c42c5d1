import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { formatDate } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { FindField, useFind } from '../../ui/table/find-field.tsx'
import { Table } from '../../ui/table/table.tsx'
import { templatesQuery } from './templates-query.ts'
import { UploadTemplate } from './upload-template.tsx'

/** The operational templates of openEHR, and a form for another one. */
export default function TemplatesPage() {
  const t = useText()
  const isFound = useFind()
  const templates = useQuery(templatesQuery)
  return (
    <>
      <Heading title={t('templates.title')} />
      <UploadTemplate />
      <FindField />
      <Loaded query={templates} lines={6}>
        {(items) => (
          <Table
            heads={[t('templates.id'), t('templates.concept'), t('templates.stored')]}
            caption={<caption className="unseen">{t('templates.title')}</caption>}
            rows={items
              .filter(({ template_id, concept }) => isFound(template_id, concept))
              .map(({ template_id: id, concept, created_timestamp: at }) => ({
                key: id,
                cells: [
                  <Link key="id" to={`/templates/${encodeURIComponent(id)}`}>
                    {id}
                  </Link>,
                  concept,
                  formatDate(at),
                ],
              }))}
          />
        )}
      </Loaded>
    </>
  )
}
