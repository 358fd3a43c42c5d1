import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { pageOf } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { formatDate, formatMoment } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { PageButtons, useTurnedPages } from '../../ui/table/page-buttons.tsx'

type DeletedEhr = components['schemas']['DeletedEhrResource'] & { subjectName: string }

const DELETED_KEY = ['deleted EHRs']
const EHRS_PER_PAGE = 50

/** With the names of the subjects who have accounts. */
const deletedQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: [...DELETED_KEY, cursor],
    queryFn: async () => {
      const query = pageOf(EHRS_PER_PAGE, cursor)
      const { items, page } = (await api.GET('/ehr/deleted', { params: { query } })).data
      const mvUids = [...new Set(items.map(({ subjectId }) => subjectId))]
      const accounts = (await api.POST('/auth/account', { body: { mvUids } })).data.items
      const names = new Map(accounts.map(({ mvUid, name, email }) => [mvUid, name ?? email]))
      return {
        page,
        items: items.map((ehr) => ({ ...ehr, subjectName: names.get(ehr.subjectId) ?? ehr.subjectId })),
      }
    },
  })

/** The records that were deleted in the last 30 days; each can be brought back. */
export default function DeletedPage() {
  const t = useText()
  const pages = useTurnedPages<string>()
  const deletedEhrs = useQuery(deletedQuery(pages.position))
  return (
    <>
      <Heading title={t('deleted.title')} />
      <p>{t('deleted.help')}</p>
      <Loaded query={deletedEhrs} lines={6}>
        {({ items, page }) => (
          <>
            {items.length === 0 && <p>{t('deleted.none')}</p>}
            <ul className="rows">
              {items.map((ehr) => (
                <DeletedRow key={ehr.id} ehr={ehr} />
              ))}
            </ul>
            <PageButtons pages={pages} next={page.next} />
          </>
        )}
      </Loaded>
    </>
  )
}

function DeletedRow({
  ehr: { id, subjectName, deletedAt, restorableUntil, isReturning },
}: {
  ehr: DeletedEhr
}) {
  const t = useText()
  const queries = useQueryClient()
  const restoring = useSubmit(async () => {
    await api.POST('/med/ehr/{ehrId}/restore', { params: { path: { ehrId: id } } })
    await queries.invalidateQueries({ queryKey: DELETED_KEY })
  })
  return (
    <li>
      <div className="grow">
        <strong>{subjectName}</strong>
        <p className="help">
          {t('deleted.period', { id, at: formatMoment(deletedAt), until: formatDate(restorableUntil) })}
        </p>
        {restoring.problem && <FailureNote error={restoring.problem} />}
      </div>
      {isReturning ? (
        <p role="status">{t('deleted.returning')}</p>
      ) : (
        <ConfirmButton
          label={t('history.restore')}
          about={subjectName}
          question={t('deleted.question', { who: subjectName })}
          yes={t('deleted.yes')}
          onConfirm={restoring.submit}
        />
      )}
    </li>
  )
}
