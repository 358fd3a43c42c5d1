import { useQuery } from '@tanstack/react-query'
import { type ComponentType, useState } from 'react'
import { type PageRequest, pageOf } from '../session/list-pages.ts'
import { useText } from '../texts/translate.ts'
import { Heading } from '../ui/heading.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PageButtons, PLAIN_LABELS, useTurnedPages } from '../ui/table/page-buttons.tsx'
import { ClientSecretNote, type RegisteredClient } from './client-secret-note.tsx'

const CLIENTS_PER_PAGE = 50

export interface RowProps<T> {
  client: T
  onRenewed: (client: RegisteredClient) => void
}

export interface NewClientProps {
  mvUid: string
  onRegistered: (client: RegisteredClient) => void
}

interface RegistrationsPageProps<T> {
  mvUid: string
  /** The group of its texts. */
  texts: 'apps' | 'systems'
  queryKey: readonly string[]
  read: (page: PageRequest) => Promise<{ items: readonly T[]; page: { next: string | null } }>
  Row: ComponentType<RowProps<T>>
  New: ComponentType<NewClientProps>
}

/** The clients that administrators register: a list, and a form for a new one. A secret is shown once. */
export function RegistrationsPage<T extends { id: string }>(props: RegistrationsPageProps<T>) {
  const { mvUid, texts, queryKey, read, Row, New } = props
  const t = useText()
  const pages = useTurnedPages<string>()
  const clients = useQuery({
    queryKey: [...queryKey, pages.position],
    queryFn: () => read(pageOf(CLIENTS_PER_PAGE, pages.position)),
  })
  const [registeredClient, show] = useState<RegisteredClient>()
  return (
    <>
      <Heading title={t(`${texts}.title`)} />
      <p>{t(`${texts}.help`)}</p>
      {registeredClient && <ClientSecretNote client={registeredClient} />}
      <Loaded query={clients} lines={4}>
        {({ items, page }) => (
          <>
            {items.length === 0 && <p>{t(`${texts}.none`)}</p>}
            <ul className="rows">
              {items.map((client) => (
                <Row key={client.id} client={client} onRenewed={show} />
              ))}
            </ul>
            <PageButtons pages={pages} next={page.next} labels={PLAIN_LABELS} />
          </>
        )}
      </Loaded>
      <details className="panel">
        <summary>{t(`${texts}.new`)}</summary>
        <New mvUid={mvUid} onRegistered={show} />
      </details>
    </>
  )
}
