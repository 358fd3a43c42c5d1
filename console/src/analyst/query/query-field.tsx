import { useId, useRef } from 'react'
import { useText } from '../../texts/translate.ts'
import { describedBy, FieldFrame } from '../../ui/form/field.tsx'
import { placeOf, type QueryFault } from './aql-query.ts'

interface QueryFieldProps {
  name: string
  value: string
  onChange: (value: string) => void
  error: string | undefined
  fault: QueryFault | undefined
}

/** The text of a query. A fault is marked in its line, and a button leads to it. */
export function QueryField({ name, value, onChange, error, fault }: QueryFieldProps) {
  const t = useText()
  const id = useId()
  const text = useRef<HTMLTextAreaElement>(null)
  const label = t('query.text')
  const fieldProps = { label, help: t('query.help'), error: fault ? t('query.fault') : error }
  const goToFault = () => {
    if (!fault) return
    const { start, end } = placeOf(value, fault)
    text.current?.focus()
    text.current?.setSelectionRange(start, end)
  }
  return (
    <FieldFrame id={id} {...fieldProps}>
      <textarea
        ref={text}
        {...{ id, name, value, rows: 8, className: 'code', spellCheck: false, autoComplete: 'off' }}
        onChange={(event) => onChange(event.target.value)}
        {...describedBy(id, fieldProps)}
      />
      {fault && (
        <div className="note bad">
          <p>
            {t('query.place', { line: fault.line, column: fault.column })}{' '}
            <span lang="en">{fault.reason}</span>
          </p>
          <FaultyLine text={value} fault={fault} />
          <button type="button" onClick={goToFault}>
            {t('query.goToFault')}
          </button>
        </div>
      )}
    </FieldFrame>
  )
}

/** The line with the fault; the end of the text is marked by a sign. */
function FaultyLine({ text, fault }: { text: string; fault: QueryFault }) {
  const { start, end } = placeOf(text, fault)
  const from = text.lastIndexOf('\n', start - 1) + 1
  const [rest = ''] = text.slice(end).split('\n')
  return (
    <pre className="code">
      {text.slice(from, start)}
      <mark>{text.slice(start, end) || '◂'}</mark>
      {rest}
    </pre>
  )
}
