import type { Page } from 'playwright-core'

/** Functions of the browser that each find faults in the layout of a page, and name the texts. */
const FINDERS = {
  // Longer ones may be wider than a column of a phone.
  brokenWords: `() => {
    const MAX_LETTERS = 12
    const found = []
    const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
    const isClipped = (one) => one && (getComputedStyle(one).clipPath !== 'none' || isClipped(one.parentElement))
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (isClipped(text.parentElement)) continue
      for (const { 0: word, index } of text.data.matchAll(/\\S+/g)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ top }) => top))
        if (word.length <= MAX_LETTERS && lines.size > 1) found.push(word)
      }
    }
    return found
  }`,
  smallTargets: `() => {
    const MIN_PX = 24
    return [...document.querySelectorAll('a, button, input, select, textarea, summary')]
      .filter((one) => one.checkVisibility() && !one.matches('.skip'))
      .filter((one) => {
        const { width, height } = one.getBoundingClientRect()
        return width < MIN_PX || height < MIN_PX
      })
      .map((one) => one.textContent || one.name)
  }`,
  touchingLinks: `() => {
    const MIN_GAP_PX = 8
    const links = [...document.querySelectorAll('main a')].filter((one) => one.checkVisibility())
    return links
      .filter((link, at) => {
        const end = [...(links[at - 1]?.getClientRects() ?? [])].at(-1)
        const start = link.getClientRects()[0]
        const isSameLine = end && Math.abs(end.top - start.top) < 5
        return isSameLine && start.left >= end.right - 1 && start.left - end.right < MIN_GAP_PX
      })
      .map((one) => one.textContent)
  }`,
  unalignedActions: `() => {
    const MAX_PX = 2
    const middleOf = (one) => {
      const range = document.createRange()
      range.selectNodeContents(one)
      const { top, bottom } = range.getBoundingClientRect()
      return (top + bottom) / 2
    }
    const isSameLine = (one, other) => {
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()]
      return a.top < b.bottom && b.top < a.bottom
    }
    return [...document.querySelectorAll('.actions > * + *')]
      .filter((one) => isSameLine(one, one.previousElementSibling))
      .filter((one) => Math.abs(middleOf(one) - middleOf(one.previousElementSibling)) > MAX_PX)
      .map((one) => one.textContent)
  }`,
} as const

/** The faults in the layout of a page at its present width, by their kinds. */
export async function findLayoutFaults(page: Page): Promise<Record<string, string[]>> {
  const faults: Record<string, string[]> = {}
  for (const [kind, finder] of Object.entries(FINDERS)) {
    const texts: string[] = await page.evaluate(`(${finder})()`)
    if (texts.length > 0) faults[kind] = texts
  }
  return faults
}
