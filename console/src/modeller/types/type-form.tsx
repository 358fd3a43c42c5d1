import { useQueryClient } from '@tanstack/react-query'
import { useMergeDraft } from '../../browser/drafts.ts'
import { navigate } from '../../browser/router.tsx'
import { type TextId, useText } from '../../texts/translate.ts'
import { ConflictView } from '../../ui/form/conflict-view.tsx'
import { CheckField, TextField } from '../../ui/form/field.tsx'
import { Form, saveUnlessChanged, useSubmit } from '../../ui/form/form.tsx'
import { bodyOf, fieldsOf, type TypeTexts } from './type-texts.ts'
import { type Family, saveType, TYPES_KEY } from './types-query.ts'

interface TypeFormProps {
  mvUid: string
  family: Family
  /** The stored type. */
  storedTexts: TypeTexts
  /** Empty for a new type. */
  etag: string
}

/** Violations of parts of the body that the form shows in fields of other names. */
const PLACES: Readonly<Record<string, string>> = {
  hardMin: 'ranges.hard.min',
  hardMax: 'ranges.hard.max',
  warnMin: 'ranges.warn.min',
  warnMax: 'ranges.warn.max',
}

/** Defines a type. What somebody else saves meanwhile is shown, and never overwritten unseen. */
export function TypeForm(props: TypeFormProps) {
  const t = useText()
  const { family, storedTexts, etag } = props
  const { draft, form, edit, merge } = useTypeDraft(props)
  const { mine } = draft
  const names = fieldsOf(family)
  const labels = Object.fromEntries(
    [...names, 'retired'].map((name) => [name, t(`types.${name}` as TextId)]),
  ) as TypeTexts
  const lines: Partial<TypeTexts> = { schema: '8', more: '4', description: '2' }
  return (
    <>
      {draft.etag !== etag && (
        <ConflictView {...{ labels, base: draft.base, mine, theirs: storedTexts }} onMerge={merge} />
      )}
      <Form form={form} submit={t('save')}>
        {etag === '' && (
          <TextField
            {...form.field('type')}
            {...{ label: t('types.type'), help: t('types.typeHelp'), value: mine.type }}
            onChange={(type) => edit({ type })}
          />
        )}
        {names.map((name) => {
          const nameField = form.field(name)
          const further = PLACES[name]
          return (
            <TextField
              key={name}
              name={nameField.name}
              error={nameField.error ?? (further && form.field(further).error)}
              label={labels[name]}
              help={name === 'schema' || name === 'more' ? t(`types.${name}Help`) : undefined}
              required={name === 'name' || (name === 'schema' && family === 'data')}
              {...(lines[name] && { lines: Number(lines[name]) })}
              value={mine[name]}
              onChange={(text) => edit({ [name]: text })}
            />
          )
        })}
        {etag !== '' && (
          <CheckField
            {...form.field('retired')}
            label={t('types.retire')}
            isChecked={mine.retired !== ''}
            onChange={(isRetired) => edit({ retired: isRetired ? '✓' : '' })}
          />
        )}
      </Form>
    </>
  )
}

function useTypeDraft({ mvUid, family, storedTexts, etag }: TypeFormProps) {
  const queries = useQueryClient()
  const key = `${mvUid}:type:${family}:${storedTexts.type}`
  const { draft, clear, ...changes } = useMergeDraft(key, storedTexts, { etag })
  const form = useSubmit(async () => {
    const isSaved = await saveUnlessChanged(saveType(family, bodyOf(family, draft.mine), draft.etag))
    if (isSaved) clear()
    await queries.invalidateQueries({ queryKey: TYPES_KEY })
    if (isSaved) navigate(`/types?family=${family}`)
  })
  return { draft, form, ...changes }
}
