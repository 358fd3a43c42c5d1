import { useText } from '../texts/translate.ts'

/** An app or a system. */
export interface RegisteredClient {
  id: string
  name: string
  clientSecret?: string | null | undefined
}

/** The credentials that the programmers of an app or a system need. The secret is never shown again. */
export function ClientSecretNote({ client: { id, name, clientSecret } }: { client: RegisteredClient }) {
  const t = useText()
  return (
    <div role="status" className="note">
      <p>
        {t('apps.registered', { name })} <code>{id}</code>
      </p>
      {clientSecret && (
        <p>
          {t('apps.secret')} <code>{clientSecret}</code>
        </p>
      )}
    </div>
  )
}
