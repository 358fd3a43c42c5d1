import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { parseJson } from '../../ui/form/fields-problem.ts'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { type AqlRequest, aqlKey, aqlQuery, faultOf } from './aql-query.ts'
import { QueryField } from './query-field.tsx'
import { QueryResult } from './query-result.tsx'
import { StoredQueries, type StoredQuery } from './stored-queries.tsx'

const EXAMPLE = `SELECT c/name/value AS document, c/context/start_time/value AS time
FROM EHR e CONTAINS COMPOSITION c
ORDER BY time DESC`

/** Asks questions in AQL about all records that the user may query. The text is never in a URL. */
export default function QueryPage({ me: { mvUid, roles } }: PageProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change } = useDraft(`${mvUid} query`, () => ({ q: EXAMPLE, parameters: '' }))
  const [request, setRequest] = useState<AqlRequest>()
  const form = useSubmit(async () => {
    const { q, parameters } = draft
    const query_parameters = parseParameters(parameters)
    const next = { q, query_parameters }
    setRequest(undefined)
    // The pages of an earlier run do not go with those of this one.
    queries.removeQueries({ queryKey: aqlKey(next) })
    await queries.fetchQuery(aqlQuery(next))
    setRequest(next)
  })
  const open = ({ q, parameters }: StoredQuery) =>
    change({ q, parameters: parameters.length > 0 ? exampleOf(parameters) : '' })
  return (
    <>
      <Heading title={t('query.title')} />
      <StoredQueries mvUid={mvUid} q={draft.q} mayStore={roles.includes('modeller')} onOpen={open} />
      <Form form={form} submit={t('query.run')}>
        <QueryField
          {...form.field('q')}
          value={draft.q}
          onChange={(q) => change({ q })}
          fault={faultOf(form.problem)}
        />
        <TextField
          {...form.field('query_parameters')}
          {...{
            label: t('query.parameters'),
            help: t('query.parametersHelp', { example: '{"ehr": "…"}' }),
            required: false,
            lines: 2,
          }}
          value={draft.parameters}
          onChange={(parameters) => change({ parameters })}
        />
      </Form>
      {request && <QueryResult request={request} />}
    </>
  )
}

const parseParameters = (text: string): Record<string, unknown> =>
  text.trim() ? (parseJson(text, 'query_parameters') as Record<string, unknown>) : {}

/** The names of parameters, ready for their values. */
const exampleOf = (names: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, ''])))
