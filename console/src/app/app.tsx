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
  if (status === 'out')
    return (
      <FailureBoundary>
        <SignedOut />
      </FailureBoundary>
    )
  // Another language shows its pages anew. What is typed there is in the drafts, but not in the forms of those without a session.
  return (
    <FailureBoundary key={language}>
      <Later show={signedIn} props={{}} />
    </FailureBoundary>
  )
}
