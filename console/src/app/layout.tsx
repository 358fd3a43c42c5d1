import { type ReactNode, useId, useState } from 'react'
import { useFocusRescue } from '../browser/focus-rescue.ts'
import { Link, serviceUrl, usePath } from '../browser/router.tsx'
import { type Me, textFor } from '../model/me.ts'
import { LogOutButton } from '../patient/queue/log-out-button.tsx'
import { RefusalNote } from '../patient/queue/queued-measurements.tsx'
import { useSession } from '../session/user-session.ts'
import { formatDate } from '../texts/format.ts'
import { isolate, useText } from '../texts/translate.ts'
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
        <p className="person">{isolate(me.name)}</p>
        <HelpedPersons />
        <LogOutButton />
        <Menu me={me} pages={pages} current={current} />
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

/** As many as a phone shows in three rows. */
const MAX_VISIBLE_ENTRIES = 8

/** A button opens a longer menu on a phone. Going to another page closes it. */
function Menu({ me, pages, current }: Omit<LayoutProps, 'children'>) {
  const t = useText()
  const id = useId()
  const path = usePath()
  const [openedAt, setOpenedAt] = useState<string>()
  const isOpen = openedAt === path
  const entries = pages.flatMap(({ path: to, menu }) => (menu ? { to, name: textFor(me, menu) } : []))
  return (
    <nav aria-label={t('menu')} className={entries.length > MAX_VISIBLE_ENTRIES ? 'foldable' : undefined}>
      <button
        type="button"
        className="unfold"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpenedAt(isOpen ? undefined : path)}
      >
        {t('menu')}
      </button>
      <ul id={id}>
        {entries.map(({ to, name }) => (
          <li key={to}>
            <Link to={to} aria-current={to === current ? 'page' : undefined}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
