import { type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query'
import { participantsQuery, plansQuery } from '../../model/health-record.ts'
import { helpersQuery } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded, useShownParts } from '../../ui/loaded.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { AccessLog } from './access-log.tsx'
import { AdmittedApps } from './admitted-apps.tsx'
import { Helpers } from './helpers.tsx'
import { ParticipantForm } from './participant-form.tsx'
import { ParticipantRow } from './participant-row.tsx'

/** The people who may see the record, and those who looked at it. */
export default function AccessPage({ me: { ehrId, mvUid } }: PageProps) {
  const t = useText()
  const plans = useQuery(plansQuery(ehrId))
  const lists = useQueries({
    queries: (plans.data ?? []).map(({ id }) => participantsQuery(ehrId, id)),
  })
  const parts = [plans, ...lists, useQuery(helpersQuery(mvUid))]
  const isShown = useShownParts(parts) === Number.POSITIVE_INFINITY
  return (
    <>
      <Heading title={t('access.title')} />
      {isShown ? <Accesses ehrId={ehrId} mvUid={mvUid} plans={plans} /> : <Skeleton lines={8} />}
    </>
  )
}

interface AccessesProps {
  ehrId: string
  mvUid: string
  plans: UseQueryResult<readonly PlanName[]>
}

function Accesses({ ehrId, mvUid, plans }: AccessesProps) {
  const t = useText()
  return (
    <>
      <section aria-labelledby="people">
        <h2 id="people">{t('access.people')}</h2>
        <Loaded query={plans}>
          {(items) => (
            <>
              <Participants ehrId={ehrId} plans={items} />
              {items.length > 0 && <ParticipantForm mvUid={mvUid} ehrId={ehrId} plans={items} />}
            </>
          )}
        </Loaded>
      </section>
      <section aria-labelledby="helpers">
        <h2 id="helpers">{t('helpers.title')}</h2>
        <Helpers mvUid={mvUid} />
      </section>
      <AdmittedApps />
      <section aria-labelledby="log">
        <h2 id="log">{t('access.log')}</h2>
        <AccessLog ehrId={ehrId} />
      </section>
    </>
  )
}

interface PlanName {
  id: string
  name: string
}

function Participants({ ehrId, plans }: { ehrId: string; plans: readonly PlanName[] }) {
  const t = useText()
  const lists = useQueries({ queries: plans.map(({ id }) => participantsQuery(ehrId, id)) })
  const isEmpty = lists.every(({ data }) => data?.length === 0)
  if (isEmpty) return <p>{t('access.nobody')}</p>
  return lists.map((list, at) => (
    <Loaded key={plans[at]?.id} query={list}>
      {(items) => (
        <ul className="rows">
          {items.map((one) => (
            <ParticipantRow key={one.participationId} ehrId={ehrId} plan={plans[at]} participant={one} />
          ))}
        </ul>
      )}
    </Loaded>
  ))
}
