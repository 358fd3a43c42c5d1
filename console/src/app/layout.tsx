import type { ReactNode } from 'react'
import { useFocusRescue } from '../browser/focus-rescue.ts'
import { Link, serviceUrl } from '../browser/router.tsx'
import { type Me, textFor } from '../model/me.ts'
import { LogOutButton } from '../patient/queue/log-out-button.tsx'
import { RefusalNote } from '../patient/queue/queued-measurements.tsx'
import { useSession } from '../session/user-session.ts'
import { formatDate } from '../texts/format.ts'
import { useText } from '../texts/translate.ts'
import { PageFailureNote } from '../ui/failure-note.tsx'
import { HelpedPersons, HelpingBanner } from './helping.tsx'
import type { PageEntry } from './page-table.ts'

interface LayoutProps {
  me: Me
  pages: readonly PageEntry[]
  /** Path of the page that is shown. */
  current: string | undefined
  children: ReactNode
}

export function Layout({ me, pages, current, children }: LayoutProps) {
  const t = useText()
  useFocusRescue()
  const session = useSession()
  return (
    <>
      <a className="skip" href="#content">
        {t('skip')}
      </a>
      {session.status === 'in' && session.isOther && (
        <p role="status" className="helping">
          {t('login.other', { name: me.name })}
        </p>
      )}
      <HelpingBanner />
      <header className="top">
        <p className="person">{me.name}</p>
        <HelpedPersons />
        <LogOutButton />
        <nav aria-label={t('menu')}>
          <ul>
            {pages.flatMap(({ path, menu }) =>
              menu ? (
                <li key={path}>
                  <Link to={path} aria-current={path === current ? 'page' : undefined}>
                    {textFor(me, menu)}
                  </Link>
                </li>
              ) : (
                []
              ),
            )}
          </ul>
        </nav>
      </header>
      <main id="content" tabIndex={-1}>
        <p className="help paper-only">
          {t(me.acts ? 'printed.helper' : 'printed', { name: me.name, date: formatDate(Date.now()) })}
        </p>
        <PageFailureNote />
        {current !== '/' && <RefusalNote me={me} />}
        {children}
      </main>
      <footer>
        <a href={`${serviceUrl}/docs`}>{t('forProgrammers')}</a>
      </footer>
    </>
  )
}
