import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { linesOf, parseJson } from '../../ui/form/fields-problem.ts'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import type { NewClientProps } from '../registrations-page.tsx'
import { APPS_KEY, type ListedApp } from './apps-query.ts'

const AUTHENTICATIONS = ['public', 'secret', 'key'] as const

const emptyApp = () => ({
  name: '',
  authentication: 'public' as ListedApp['authentication'],
  redirectUris: '',
  scopes: 'launch/patient\npatient/*.rs\nopenid\nfhirUser\noffline_access',
  launchUrl: '',
  jwks: '',
})

/** Registers an app. */
export function NewApp({ mvUid, onRegistered }: NewClientProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid} new app`, emptyApp)
  const { name, authentication, launchUrl, jwks } = draft
  const create = useCreation()
  const form = useSubmit(async () => {
    const body = {
      name: name.trim(),
      authentication,
      redirectUris: linesOf(draft.redirectUris),
      scopes: linesOf(draft.scopes),
      ...(launchUrl.trim() && { launchUrl: launchUrl.trim() }),
      ...(authentication === 'key' && { jwks: parseJson(jwks, 'jwks') as NonNullable<ListedApp['jwks']> }),
    }
    const { data } = await create(body, (request) => api.POST('/auth/app', request))
    clear()
    onRegistered(data)
    await queries.invalidateQueries({ queryKey: APPS_KEY })
  })
  const field = (fieldName: 'name' | 'redirectUris' | 'scopes' | 'launchUrl' | 'jwks') => ({
    ...form.field(fieldName),
    label: t(`apps.${fieldName}`),
    value: draft[fieldName],
    onChange: (value: string) => change({ [fieldName]: value }),
  })
  return (
    <Form form={form} submit={t('apps.register')}>
      <TextField {...field('name')} />
      <SelectField
        {...form.field('authentication')}
        label={t('apps.authentication')}
        value={authentication}
        options={AUTHENTICATIONS.map((value) => ({ value, label: t(`authentication.${value}`) }))}
        onChange={(value) => change({ authentication: value as ListedApp['authentication'] })}
      />
      {authentication === 'key' && <TextField {...field('jwks')} lines={5} />}
      <TextField {...field('redirectUris')} help={t('apps.lines')} lines={3} />
      <TextField {...field('scopes')} help={t('apps.lines')} lines={5} />
      <TextField {...field('launchUrl')} required={false} />
    </Form>
  )
}
