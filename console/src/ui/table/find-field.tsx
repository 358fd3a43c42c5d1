import { useState } from 'react'
import { navigate, useRoute } from '../../browser/router.tsx'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../form/field.tsx'

const FIND = 'find'

/** A search field for a list that is on the page as a whole. */
export function useFind(): (...texts: (string | undefined)[]) => boolean {
  const soughtText = (useRoute().query.get(FIND) ?? '').toLowerCase()
  return (...texts) => texts.some((text) => text?.toLowerCase().includes(soughtText))
}

/** Searches while somebody types. The URL holds the search. */
export function FindField() {
  const t = useText()
  const { path, query } = useRoute()
  const [text, setText] = useState(query.get(FIND) ?? '')
  const find = (next: string) => {
    setText(next)
    query.set(FIND, next)
    navigate(`${path}?${query}`, { replace: true })
  }
  return <TextField {...{ label: t('find'), type: 'search', required: false, value: text }} onChange={find} />
}
