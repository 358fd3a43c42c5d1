import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose result depends on colours. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Chosen in the page, since axe-core describes every element that it checks. */
const DESCRIBE_VIOLATIONS = `({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200)))`

/**
 * The rules of axe-core that a page violates, with the places.
 * @param rules by default all
 */
export async function findAccessibilityViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // A page of the console replaces another without loading a document.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe)
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) })
  return (await page.evaluate(`axe.run(${options}).then(${DESCRIBE_VIOLATIONS})`)) as string[]
}
