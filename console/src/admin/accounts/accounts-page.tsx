import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, navigate, useRoute } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { PageButtons, PLAIN_LABELS, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { Table, type TableRow } from '../../ui/table/table.tsx'
import { type Account, type AccountFilter, accountsQuery, STATES } from './accounts-query.ts'
import { NewAccount } from './new-account.tsx'

/** Finds accounts, and makes new ones. */
export default function AccountsPage({ me }: PageProps) {
  const t = useText()
  const { query } = useRoute()
  const state = STATES.find((one) => one === query.get('state'))
  const [email, setEmail] = useState('')
  const filter = { ...(state && { state }), ...(email !== '' && { email }) }
  return (
    <>
      <Heading title={t('accounts.title')} />
      <Filters filter={filter} onFind={setEmail} />
      <AccountList key={JSON.stringify(filter)} filter={filter} />
      <details className="panel">
        <summary>{t('accounts.new')}</summary>
        <NewAccount mvUid={me.mvUid} />
      </details>
    </>
  )
}

/** The URL holds the state, but no e-mail address: the browser remembers it. */
function Filters({ filter, onFind }: { filter: AccountFilter; onFind: (email: string) => void }) {
  const t = useText()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const form = useSubmit(async () => {
    const address = email.trim()
    // The refusal of the service appears next to the field.
    await queries.fetchQuery(accountsQuery(address === '' ? {} : { email: address }, undefined))
    onFind(address)
  })
  return (
    <section className="filters" aria-label={t('accounts.search')}>
      <Form form={form} submit={t('accounts.find')}>
        <TextField
          {...form.field('email')}
          {...{ type: 'search', label: t('accounts.wholeEmail'), required: false }}
          value={email}
          onChange={setEmail}
        />
      </Form>
      <SelectField
        label={t('accounts.state')}
        value={filter.state ?? ''}
        options={[
          { value: '', label: t('worklist.all') },
          ...STATES.map((value) => ({ value, label: t(`state.${value}`) })),
        ]}
        onChange={(state) => navigate(`/admin/accounts?${new URLSearchParams({ state })}`)}
      />
    </section>
  )
}

function AccountList({ filter }: { filter: AccountFilter }) {
  const t = useText()
  const pages = useTurnedPages<string>()
  const accounts = useQuery(accountsQuery(filter, pages.position))
  return (
    <Loaded query={accounts} lines={6}>
      {({ items, page }) =>
        items.length === 0 ? (
          <p>{t('accounts.none')}</p>
        ) : (
          <>
            <Table
              heads={[t('accounts.name'), t('login.email'), t('accounts.state'), t('accounts.roles')]}
              caption={<caption className="unseen">{t('accounts.title')}</caption>}
              rows={items.map((account) => accountRow(t, account))}
            />
            <PageButtons pages={pages} next={page.next} labels={PLAIN_LABELS} />
          </>
        )
      }
    </Loaded>
  )
}

const accountRow = (
  t: ReturnType<typeof useText>,
  { mvUid, name, email, state, roles }: Account,
): TableRow => ({
  key: mvUid,
  cells: [
    <Link key="name" to={`/admin/accounts/${mvUid}`}>
      {personName(name)}
    </Link>,
    email,
    t(`state.${state}`),
    roles.map((role) => t(`role.${role}`)).join(', '),
  ],
})
