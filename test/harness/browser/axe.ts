import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose result depends on colours. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/**
 * The rules of axe-core that a page violates, with the places.
 * @param rules by default all
 */
export async function findAccessibilityViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // A page of the console replaces another without loading a document.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe)
  const options = JSON.stringify(rules ? { runOnly: rules } : {})
  const { violations } = (await page.evaluate(`axe.run(${options})`)) as {
    violations: { id: string; nodes: { html: string }[] }[]
  }
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}
