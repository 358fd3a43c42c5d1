import { useEffect, useRef } from 'react'
import { hasFocusMoved } from '../browser/router.tsx'
import { serviceName } from '../texts/translate.ts'

let isFirst = true

/** The heading of a page. It names the tab and, after a change of the page, receives the focus, unless the user has moved it. */
export function Heading({ title }: { title: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – ${serviceName()}`
  }, [title])
  useEffect(() => {
    if (!isFirst && !hasFocusMoved()) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {title}
    </h1>
  )
}
