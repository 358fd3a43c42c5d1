import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useEachMinute } from '../browser/page-visibility.ts'
import { currentPath, matchPath, usePath } from '../browser/router.tsx'
import { useLiveAccount, useLiveEhr } from '../model/live.ts'
import { helpedQuery, type Me, MeContext, meQuery } from '../model/me.ts'
import type { PageProps } from '../model/page-props.ts'
import { createQueryClient } from '../model/queries.ts'
import { PatientAccess } from '../patient/banner/patient-access.tsx'
import { isQueueOn, useQueueAccount } from '../patient/queue/measurement-queue.ts'
import { useSendQueue } from '../patient/queue/send-queue.ts'
import { type HelpedPerson, useSession } from '../session/user-session.ts'
import { PageFailureNote } from '../ui/failure-note.tsx'
import { Later } from '../ui/later.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { NotFound } from '../ui/not-found.tsx'
import { Layout } from './layout.tsx'
import { type PageEntry, pages } from './page-table.ts'
import '../styles/pages.css'

interface FoundPage {
  entry: PageEntry
  params: PageProps['params']
}

function findPage(among: readonly PageEntry[], path: string): FoundPage | undefined {
  for (const entry of among) {
    const params = matchPath(entry.path, path)
    if (params) return { entry, params }
  }
  return undefined
}

// The page loads while the session is restored.
findPage(pages, currentPath())
  ?.entry.page.load()
  .catch(() => {})

export default function SignedIn() {
  const session = useSession()
  const { mvUid, helpedPerson } = session.status === 'in' ? session : { mvUid: '' }
  const [queries] = useState(createQueryClient)
  return (
    <QueryClientProvider client={queries} key={`${mvUid} ${helpedPerson?.mvUid}`}>
      <Start mvUid={mvUid} helpedPerson={helpedPerson} />
    </QueryClientProvider>
  )
}

function Start({ mvUid, helpedPerson }: { mvUid: string; helpedPerson?: HelpedPerson | undefined }) {
  const me = useQuery(helpedPerson ? helpedQuery(helpedPerson) : meQuery(mvUid))
  useLiveAccount(mvUid)
  const acts = helpedPerson && { acts: helpedPerson.acts }
  return (
    <>
      {!me.data && <PageFailureNote />}
      <Loaded query={me}>{(data) => <Pages me={{ ...data, ...acts }} />}</Loaded>
    </>
  )
}

/**
 * The page at the path. A page that a helper has opened stays, with what they have typed, when the person withdraws the
 * permission for it: the service says why it saves nothing. Likewise that of a patient, when the last participation ends.
 */
function usePageAt(path: string, visiblePages: readonly PageEntry[], { acts }: Me) {
  const foundPage = findPage(visiblePages, path)
  const [last, setLast] = useState({ path, found: foundPage })
  if (last.path !== path || (foundPage && foundPage.entry !== last.found?.entry))
    setLast({ path, found: foundPage })
  const stays = acts !== undefined || last.found?.params.ehrId !== undefined
  return foundPage ?? (stays && last.path === path ? last.found : undefined)
}

const MEASURING_PAGES = ['/', '/measure', '/patients/:ehrId']

/** Loads the pages on which somebody measures before the network is lost. */
function usePagesWithoutNetwork(visiblePages: readonly PageEntry[]) {
  const isOn = isQueueOn(useQueueAccount())
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is made anew each time, with the same pages
  useEffect(() => {
    if (!isOn) return
    for (const { path, page } of visiblePages) if (MEASURING_PAGES.includes(path)) page.load().catch(() => {})
  }, [isOn])
}

function Pages({ me }: { me: Me }) {
  useEachMinute()
  const path = usePath()
  const visiblePages = pages.filter(({ isFor }) => isFor?.(me) ?? true)
  const foundPage = usePageAt(path, visiblePages, me)
  useLiveEhr(foundPage?.params.ehrId ?? me.ehrId)
  useSendQueue()
  usePagesWithoutNetwork(visiblePages)
  return (
    <MeContext value={me}>
      <Layout me={me} pages={visiblePages} current={foundPage?.entry.path}>
        {foundPage ? (
          <PageAt key={foundPage.params.ehrId} me={me} path={path} found={foundPage} />
        ) : (
          <NotFound />
        )}
      </Layout>
    </MeContext>
  )
}

interface PageAtProps {
  me: Me
  path: string
  found: FoundPage
}

function PageAt({ me, path, found: { entry, params } }: PageAtProps) {
  const page = <Later key={path} show={entry.page} props={{ me, params }} />
  return params.ehrId === undefined ? page : <PatientAccess ehrId={params.ehrId}>{page}</PatientAccess>
}
