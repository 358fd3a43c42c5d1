import { type ReactNode, useId, useState } from 'react'
import { translate, useText } from '../../texts/translate.ts'

export interface FieldProps {
  label: string
  help?: string | undefined
  /** The fault of the value. */
  error?: string | undefined
  /** Path of the value in the body, by which the form finds the field. */
  name?: string
  /** The label says so. */
  isOptional?: boolean
}

interface FrameProps extends FieldProps {
  id: string
  children: ReactNode
}

/** The ids that describe an input, for readers of the screen. */
export const describedBy = (id: string, { help, error, isOptional }: FieldProps) => ({
  'aria-describedby':
    [isOptional && `${id}-optional`, help && `${id}-help`, error && `${id}-error`]
      .filter(Boolean)
      .join(' ') || undefined,
  'aria-invalid': error ? true : undefined,
})

/** A label above an input, with its help and what is wrong beside it. */
export const FieldFrame = ({ id, label, help, error, isOptional, children }: FrameProps) => (
  <div className={error ? 'field invalid' : 'field'}>
    <div className="label">
      <label id={`${id}-label`} htmlFor={id}>
        {label}
      </label>
      {isOptional && (
        <span id={`${id}-optional`} className="help">
          {translate('form.optional')}
        </span>
      )}
    </div>
    {help && (
      <p id={`${id}-help`} className="help">
        {help}
      </p>
    )}
    {children}
    {error && (
      <p id={`${id}-error`} className="error">
        {error}
      </p>
    )}
  </div>
)

interface TextFieldProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  type?: 'text' | 'email' | 'date' | 'datetime-local' | 'time' | 'search'
  autoComplete?: string
  lines?: number
  required?: boolean
}

export function TextField({
  value,
  onChange,
  type = 'text',
  lines,
  required = true,
  ...rest
}: TextFieldProps) {
  const { autoComplete, name, ...shown } = rest
  // Nobody expects that a search needs a text.
  const field = { ...shown, isOptional: !required && type !== 'search' }
  const id = useId()
  const common = { id, name, value, required, autoComplete, ...describedBy(id, field) }
  return (
    <FieldFrame id={id} {...field}>
      {lines ? (
        <textarea {...common} rows={lines} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <input {...common} type={type} onChange={(event) => onChange(event.target.value)} />
      )}
    </FieldFrame>
  )
}

interface PasswordFieldProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  autoComplete: 'current-password' | 'new-password'
}

/** A password, with a button that shows what is typed. */
export function PasswordField({ value, onChange, autoComplete, name, ...field }: PasswordFieldProps) {
  const t = useText()
  const id = useId()
  const [isShown, setShown] = useState(false)
  return (
    <FieldFrame id={id} {...field}>
      <input
        id={id}
        name={name}
        type={isShown ? 'text' : 'password'}
        autoComplete={autoComplete}
        autoCapitalize="none"
        spellCheck={false}
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
        {...describedBy(id, field)}
      />
      <button
        type="button"
        className="reveal"
        aria-pressed={isShown}
        aria-describedby={`${id}-label`}
        onClick={() => setShown(!isShown)}
      >
        {t('form.showPassword')}
      </button>
    </FieldFrame>
  )
}

interface SelectFieldProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  options: readonly { value: string; label: string }[]
}

export function SelectField({ value, onChange, options, name, ...field }: SelectFieldProps) {
  const id = useId()
  return (
    <FieldFrame id={id} {...field}>
      <select
        id={id}
        name={name}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        {...describedBy(id, field)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </FieldFrame>
  )
}

interface CheckFieldProps extends FieldProps {
  isChecked: boolean
  onChange: (isChecked: boolean) => void
  children?: ReactNode
}

/** A box to tick, before its label. */
export function CheckField({ isChecked, onChange, label, error, name, children }: CheckFieldProps) {
  const id = useId()
  return (
    <div className={error ? 'field invalid' : 'field'}>
      <div className="check">
        <input
          id={id}
          name={name}
          type="checkbox"
          checked={isChecked}
          onChange={(event) => onChange(event.target.checked)}
          {...describedBy(id, { label, error })}
        />
        <label htmlFor={id}>{label}</label>
      </div>
      {children}
      {error && (
        <p id={`${id}-error`} className="error">
          {error}
        </p>
      )}
    </div>
  )
}
