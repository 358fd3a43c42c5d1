import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, navigate } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ExampleComposition } from './example-composition.tsx'
import { NodeTree } from './node-tree.tsx'
import { TEMPLATES_KEY, templateQuery } from './templates-query.ts'

/** A template: its nodes with their paths, and an example of a composition. */
export default function TemplatePage({ params: { concept = '' } }: PageProps) {
  const t = useText()
  const tree = useQuery(templateQuery(concept))
  return (
    <>
      <Heading title={concept} />
      <p>
        <Link to="/templates">{t('templates.title')}</Link>
      </p>
      <section aria-labelledby="nodes">
        <h2 id="nodes">{t('templates.nodes')}</h2>
        <p>{t('templates.nodesHelp')}</p>
        <Loaded query={tree} lines={8}>
          {(root) => <NodeTree nodes={[root]} />}
        </Loaded>
      </section>
      <ExampleComposition concept={concept} />
      <RemoveTemplate concept={concept} />
    </>
  )
}

function RemoveTemplate({ concept }: { concept: string }) {
  const t = useText()
  const queries = useQueryClient()
  const removing = useSubmit(async () => {
    await api.DELETE('/med/knowledge/template/{concept}', { params: { path: { concept } } })
    navigate('/templates')
    await queries.invalidateQueries({ queryKey: TEMPLATES_KEY, exact: true })
  })
  return (
    <>
      {removing.problem && <FailureNote error={removing.problem} />}
      <div className="actions">
        <ConfirmButton
          {...{ label: t('templates.remove'), about: concept, yes: t('apps.removeYes') }}
          question={t('templates.removeHelp')}
          onConfirm={removing.submit}
        />
      </div>
    </>
  )
}
