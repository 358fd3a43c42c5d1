import { lazy, Suspense } from 'react'
import { useSession } from '../session/session.ts'
import { useLanguage } from '../texts/translate.ts'
import { Skeleton } from '../ui/skeleton.tsx'
import { FailureBoundary } from './failure-boundary.tsx'

const SignedIn = lazy(() => import('./signed-in.tsx'))
const SignedOut = lazy(() => import('../signed-out/signed-out.tsx'))

export function App() {
  const { status } = useSession()
  const language = useLanguage()
  if (status === 'starting') return <Skeleton />
  return (
    <FailureBoundary key={language}>
      <Suspense fallback={<Skeleton />}>{status === 'in' ? <SignedIn /> : <SignedOut />}</Suspense>
    </FailureBoundary>
  )
}
