import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { matchPath, useAddress } from '../browser/router.tsx'
import { useLiveEhr } from '../model/live.ts'
import { helpedQuery, type Me, MeContext, meQuery } from '../model/me.ts'
import { createQueryClient } from '../model/queries.ts'
import { type HelpedPerson, useSession } from '../session/user-session.ts'
import { Loaded } from '../ui/loaded.tsx'
import { NotFound } from '../ui/not-found.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { Layout } from './layout.tsx'
import { pages } from './page-table.ts'
import '../styles/pages.css'

export default function SignedIn() {
  const session = useSession()
  const { mvUid, helped } = session.status === 'in' ? session : { mvUid: '' }
  const [queries] = useState(createQueryClient)
  return (
    <QueryClientProvider client={queries} key={`${mvUid} ${helped?.mvUid}`}>
      <Start mvUid={mvUid} helped={helped} />
    </QueryClientProvider>
  )
}

function Start({ mvUid, helped }: { mvUid: string; helped?: HelpedPerson | undefined }) {
  const me = useQuery(helped ? helpedQuery(helped) : meQuery(mvUid))
  return <Loaded query={me}>{(loaded) => <Pages me={loaded} />}</Loaded>
}

function Pages({ me }: { me: Me }) {
  const { path } = useAddress()
  const own = pages.filter(({ isFor }) => isFor?.(me) ?? true)
  const found = own.flatMap((entry) => {
    const params = matchPath(entry.path, path)
    return params ? [{ entry, params }] : []
  })[0]
  useLiveEhr(found?.params.ehrId ?? me.ehrId)
  return (
    <MeContext value={me}>
      <Layout me={me} pages={own} current={found?.entry.path}>
        <Suspense fallback={<Skeleton lines={6} />}>
          {found ? <found.entry.page key={path} me={me} params={found.params} /> : <NotFound />}
        </Suspense>
      </Layout>
    </MeContext>
  )
}
