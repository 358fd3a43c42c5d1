import { useEffect } from 'react'
import { currentPath } from './router.tsx'

function ancestorsOf(element: Element): Element[] {
  const ancestors = []
  for (let one = element.parentElement; one && one !== document.body; one = one.parentElement)
    ancestors.push(one)
  return ancestors
}

/** The heading of the nearest section that is still there. */
const headingOf = (ancestors: readonly Element[]): HTMLElement | null | undefined =>
  ancestors.find((one) => one.isConnected && one.querySelector('h1, h2, h3'))?.querySelector('h1, h2, h3')

/**
 * Some controls go away when they are used, such as the row of a task that is done. The focus would start again at the top
 * of the page; the heading of the section receives it instead.
 */
export function useFocusRescue(): void {
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    let last: { control: Element; ancestors: Element[]; path: string } | undefined
    const note = ({ target }: Event) => {
      if (!(target instanceof Element)) return
      last = { control: target, ancestors: ancestorsOf(target), path: currentPath() }
    }
    const forget = () => {
      last = undefined
    }
    addEventListener('focusin', note, { signal })
    addEventListener('pointerdown', forget, { signal })
    const observer = new MutationObserver(() => {
      if (!last || last.control.isConnected || document.activeElement !== document.body) return
      // Another page gives the focus to its own heading.
      const heading = last.path === currentPath() ? headingOf(last.ancestors) : undefined
      forget()
      if (!heading) return
      heading.tabIndex = -1
      heading.focus()
    })
    observer.observe(document.body, { childList: true, subtree: true })
    return () => {
      stop.abort()
      observer.disconnect()
    }
  }, [])
}
