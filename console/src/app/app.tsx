import { useSession } from '../session/user-session.ts'
import { SignedOut } from '../signed-out/signed-out.tsx'
import { useLanguage } from '../texts/translate.ts'
import { Later, loadLater } from '../ui/later.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { FailureBoundary } from './failure-boundary.tsx'

const signedIn = loadLater(() => import('./signed-in.tsx'))

export function App() {
  const { status } = useSession()
  const language = useLanguage()
  if (status === 'starting') return <Skeleton />
  return (
    <FailureBoundary key={language}>
      {status === 'in' ? <Later show={signedIn} props={{}} /> : <SignedOut />}
    </FailureBoundary>
  )
}
