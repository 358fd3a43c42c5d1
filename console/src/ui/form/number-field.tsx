import type { MeasuredQuantity } from 'virtual:measurement-kinds'
import { useId } from 'react'
import { quantityName, unitName } from '../../texts/format.ts'
import { translateName, useText } from '../../texts/translate.ts'
import { describedBy, FieldFrame } from './field.tsx'

interface TypedValue {
  text: string
  unit: string
}

interface NumberFieldProps {
  quantity: MeasuredQuantity
  value: TypedValue
  onChange: (value: TypedValue) => void
  error: string | undefined
}

/** A large field for a number with a decimal comma or point, and its unit. */
export function NumberField({ quantity: { name, units }, value, onChange, error }: NumberFieldProps) {
  const t = useText()
  const id = useId()
  const label = quantityName(name, name)
  // Other spellings of a unit have no text of their own. The unit of the value is a choice in any case: a select whose
  // value is none of its options would show another unit than the one that is sent.
  const choices = units.filter(({ code }) => code === value.unit || translateName(`unit.${code}`, '') !== '')
  return (
    <FieldFrame id={id} label={label} error={error}>
      <div className="number">
        <input
          id={id}
          name={name}
          inputMode="decimal"
          autoComplete="off"
          required
          value={value.text}
          onChange={(event) => onChange({ ...value, text: event.target.value })}
          {...describedBy(id, { label, error })}
        />
        {choices.length > 1 ? (
          <select
            aria-label={t('measure.unitOf', { name: label })}
            value={value.unit}
            onChange={(event) => onChange({ ...value, unit: event.target.value })}
          >
            {choices.map(({ code }) => (
              <option key={code} value={code}>
                {unitName(code)}
              </option>
            ))}
          </select>
        ) : (
          <span>{unitName(value.unit)}</span>
        )}
      </div>
    </FieldFrame>
  )
}
