import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { saveFile } from '../../browser/save-file.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField } from '../../ui/form/field.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { type ExampleChoice, exampleQuery, FORMATS, LEVELS } from './templates-query.ts'

/** A composition of the template with invented data, in each format. */
export function ExampleComposition({ concept }: { concept: string }) {
  const t = useText()
  const [choice, setChoice] = useState<ExampleChoice>({ format: 'json', detail_level: 'required' })
  const example = useQuery(exampleQuery(concept, choice))
  const { format, detail_level } = choice
  const save = (text: string) => saveFile(`${concept}.${format === 'xml' ? 'xml' : 'json'}`, new Blob([text]))
  return (
    <section aria-labelledby="example">
      <h2 id="example">{t('templates.example')}</h2>
      <div className="filters">
        <SelectField
          label={t('templates.format')}
          value={format}
          options={FORMATS.map((value) => ({ value, label: t(`format.${value}`) }))}
          onChange={(value) => setChoice({ ...choice, format: value as ExampleChoice['format'] })}
        />
        <SelectField
          label={t('templates.level')}
          value={detail_level}
          options={LEVELS.map((value) => ({ value, label: t(`level.${value}`) }))}
          onChange={(value) => setChoice({ ...choice, detail_level: value as ExampleChoice['detail_level'] })}
        />
      </div>
      <Loaded query={example} lines={8}>
        {(text) => (
          <>
            <textarea className="code" readOnly rows={16} aria-labelledby="example" value={text} />
            <button type="button" onClick={() => save(text)}>
              {t('templates.save')}
            </button>
          </>
        )}
      </Loaded>
    </section>
  )
}
