import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { CheckField, TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import type { NewClientProps } from '../registrations-page.tsx'
import { type ListedSystem, SYSTEMS_KEY } from './systems-query.ts'

const ROLES = ['modeller', 'analyst'] as const

const emptySystem = () => ({ name: '', roles: [] as ListedSystem['roles'] })

/** Registers a system. */
export function NewSystem({ mvUid, onRegistered }: NewClientProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid} new system`, emptySystem)
  const { name, roles } = draft
  const create = useCreation()
  const form = useSubmit(async () => {
    const body = { name: name.trim(), roles }
    const { data } = await create(body, (request) => api.POST('/auth/system', request))
    clear()
    onRegistered(data)
    await queries.invalidateQueries({ queryKey: SYSTEMS_KEY })
  })
  return (
    <Form form={form} submit={t('apps.register')}>
      <TextField
        {...form.field('name')}
        label={t('systems.name')}
        value={name}
        onChange={(text) => change({ name: text })}
      />
      <fieldset>
        <legend>{t('systems.mayMore')}</legend>
        {ROLES.map((role) => (
          <CheckField
            key={role}
            label={t(`systemRole.${role}`)}
            isChecked={roles.includes(role)}
            onChange={(isChecked) =>
              change({ roles: ROLES.filter((one) => (one === role ? isChecked : roles.includes(one))) })
            }
          />
        ))}
      </fieldset>
    </Form>
  )
}
