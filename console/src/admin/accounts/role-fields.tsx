import type { Role } from '../../model/me.ts'
import { useText } from '../../texts/translate.ts'
import { CheckField } from '../../ui/form/field.tsx'
import { ROLES } from './accounts-query.ts'

interface RoleFieldsProps {
  roles: readonly Role[]
  error?: string | undefined
  onChange: (roles: Role[]) => void
}

/** The roles of a person in the whole service. */
export function RoleFields({ roles, error, onChange }: RoleFieldsProps) {
  const t = useText()
  return (
    <fieldset>
      <legend>{t('accounts.roles')}</legend>
      {error && <p className="error">{error}</p>}
      {ROLES.map((role) => (
        <CheckField
          key={role}
          name={role === 'admin' ? 'roles' : role}
          label={t(`role.${role}`)}
          isChecked={roles.includes(role)}
          onChange={(isChecked) =>
            onChange(ROLES.filter((one) => (one === role ? isChecked : roles.includes(one))))
          }
        />
      ))}
    </fieldset>
  )
}
