import { useId, useState } from 'react'
import { useText } from '../../texts/translate.ts'

type Texts<Name extends string> = Readonly<Record<Name, string>>

interface ConflictViewProps<Name extends string> {
  labels: Texts<Name>
  /** The value when the form was opened. After a reload it is not known. */
  base: Partial<Texts<Name>>
  /** The typed value. */
  mine: Texts<Name>
  /** The value that somebody else saved meanwhile. */
  theirs: Texts<Name>
  /** Formats a value. */
  textOf?: (name: Name, value: string) => string
  onMerge: (mergedValues: Record<Name, string>) => void
}

type Side = 'mine' | 'theirs'

/**
 * Shows the three versions of each field that somebody else changed. A field that only one side changed keeps that
 * change; the reader chooses about the others.
 */
export function ConflictView<Name extends string>({
  labels,
  base,
  mine,
  theirs,
  textOf = (_, value) => value,
  onMerge,
}: ConflictViewProps<Name>) {
  const t = useText()
  const id = useId()
  const names = (Object.keys(labels) as Name[]).filter((name) => theirs[name] !== base[name])
  const [sides, setSides] = useState<Partial<Record<Name, Side>>>({})
  const sideOf = (name: Name): Side => sides[name] ?? (mine[name] === base[name] ? 'theirs' : 'mine')
  const mergeValues = () =>
    Object.fromEntries(
      (Object.keys(labels) as Name[]).map((name) => [
        name,
        names.includes(name) && sideOf(name) === 'theirs' ? theirs[name] : mine[name],
      ]),
    ) as Record<Name, string>
  return (
    <section className="note" role="status" aria-labelledby={id}>
      <h2 id={id}>{t('conflict.title')}</h2>
      <p>{t('conflict.help')}</p>
      {names.map((name) => (
        <fieldset key={name}>
          <legend>{labels[name]}</legend>
          <BaseText text={base[name] === undefined ? undefined : textOf(name, base[name])} />
          {(['theirs', 'mine'] as const).map((side) => (
            <label key={side} className="radio">
              <input
                type="radio"
                name={`${id}-${name}`}
                checked={sideOf(name) === side}
                onChange={() => setSides({ ...sides, [name]: side })}
              />
              {t(`conflict.${side}`, { text: textOf(name, (side === 'mine' ? mine : theirs)[name]) || '–' })}
            </label>
          ))}
        </fieldset>
      ))}
      <button type="button" className="primary" onClick={() => onMerge(mergeValues())}>
        {t('conflict.merge')}
      </button>
    </section>
  )
}

function BaseText({ text }: { text: string | undefined }) {
  const t = useText()
  return text === undefined ? null : <p className="help">{t('conflict.base', { text: text || '–' })}</p>
}
