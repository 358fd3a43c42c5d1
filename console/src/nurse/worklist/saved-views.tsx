import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { Link } from '../../browser/router.tsx'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import {
  viewsQuery,
  type WorklistFilter,
  type WorklistView,
  worklistRouteOf,
} from '../alerts/worklist-query.ts'

/** Reads, changes and writes the views, which may have changed in another tab. */
function useChangeViews(mvUid: string) {
  const queries = useQueryClient()
  return async (change: (views: WorklistView[]) => WorklistView[]) => {
    await api.update('/worklist/views', {}, ({ views }) => ({ views: change(views) }))
    await queries.invalidateQueries(viewsQuery(mvUid))
  }
}

interface SavedViewsProps {
  mvUid: string
  filter: WorklistFilter
}

/** Filters that the user has saved under names, and a form for saving the present one. */
export function SavedViews({ mvUid, filter }: SavedViewsProps) {
  const t = useText()
  const views = useQuery(viewsQuery(mvUid))
  return (
    <section className="panel" aria-labelledby="views">
      <h2 id="views">{t('views.title')}</h2>
      <Loaded query={views} lines={1}>
        {(items) => (
          <ul className="rows">
            {items.map((view) => (
              <SavedView key={view.name} mvUid={mvUid} view={view} />
            ))}
          </ul>
        )}
      </Loaded>
      <details>
        <summary>{t('views.save')}</summary>
        <SaveView mvUid={mvUid} filter={filter} />
      </details>
    </section>
  )
}

function SavedView({ mvUid, view }: { mvUid: string; view: WorklistView }) {
  const t = useText()
  const change = useChangeViews(mvUid)
  const removing = useSubmit(() => change((views) => views.filter(({ name }) => name !== view.name)))
  return (
    <li>
      <Link className="grow" to={worklistRouteOf(view)}>
        {view.name}
      </Link>
      <button type="button" onClick={removing.submit}>
        {t('views.remove')} <span className="unseen">{view.name}</span>
      </button>
      {removing.problem && <FailureNote error={removing.problem} />}
    </li>
  )
}

function SaveView({ mvUid, filter }: SavedViewsProps) {
  const t = useText()
  const change = useChangeViews(mvUid)
  const { draft, change: type, clear } = useDraft(`${mvUid}:view`, () => ({ name: '' }))
  const { name } = draft
  const form = useSubmit(async () => {
    await change((views) => [...views.filter((view) => view.name !== name), { name, ...filter }])
    clear()
  })
  return (
    <Form form={form} submit={t('save')} saved={t('form.added')}>
      <TextField
        {...form.field('views')}
        label={t('views.name')}
        value={name}
        onChange={(text) => type({ name: text })}
      />
    </Form>
  )
}
