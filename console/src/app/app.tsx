import { restoreSession, useSession } from '../session/user-session.ts'
import { SignedOut } from '../signed-out/signed-out.tsx'
import { useLanguage, useText } from '../texts/translate.ts'
import { FailureNote } from '../ui/failure-note.tsx'
import { Heading } from '../ui/heading.tsx'
import { Later, loadLater } from '../ui/later.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { FailureBoundary } from './failure-boundary.tsx'

const signedIn = loadLater(() => import('./signed-in.tsx'))

export function App() {
  const t = useText()
  const session = useSession()
  const language = useLanguage()
  const { status } = session
  if (status === 'starting') return <Skeleton />
  if (status === 'out')
    return (
      <FailureBoundary>
        <SignedOut />
      </FailureBoundary>
    )
  // Another language shows its pages anew. What is typed there is in the drafts, but not in the forms of those without a session.
  if (status === 'failed')
    return (
      <main className="narrow">
        <Heading title={t('login.failed')} />
        <FailureNote error={session.problem} onRetry={restoreSession} />
      </main>
    )
  return (
    <FailureBoundary key={language}>
      <Later show={signedIn} props={{}} />
    </FailureBoundary>
  )
}
