import { useText } from '../texts/translate.ts'
import { TextField } from '../ui/form/field.tsx'
import type { SubmitState } from '../ui/form/form.tsx'

interface EmailFieldProps {
  form: SubmitState
  value: string
  onChange(value: string): void
}

/** The address by which an account is known, so that password managers fill it in. */
export function EmailField({ form, ...input }: EmailFieldProps) {
  const t = useText()
  return (
    <TextField
      {...form.field('email')}
      label={t('login.email')}
      type="email"
      autoComplete="username"
      {...input}
    />
  )
}
