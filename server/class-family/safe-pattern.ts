const longest = 200
const mostRepetitions = 2

/**
 * Whether a regular expression can be matched in reasonable time: nothing but a single character or a class is
 * repeated, at most two of those without a bound, no look-around and no back-reference. `\Q…\E` quotes a text,
 * as the SDKs' startsWith and contains send it.
 */
export function isSafePattern(pattern: string): boolean {
  if (pattern.length > longest) return false
  const unquoted = pattern.replace(/\\Q[\s\S]*?(\\E|$)/g, (quoted) => 'x'.repeat(quoted.length > 2 ? 1 : 0))
  if (/\(\?(?!:)|\\[1-9kgpP]/.test(unquoted)) return false
  const simple = unquoted.replace(/\\[\s\S]/g, 'x').replace(/\[\^?\]?[^\]]*\]/g, 'x')
  if (/\)[*+?{]/.test(simple)) return false
  const unbounded = simple.match(/[*+]|\{\d*,\}/g) ?? []
  const bounds = [...simple.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].map(([, least, most]) => Number(most || least))
  return unbounded.length <= mostRepetitions && bounds.every((bound) => bound <= longest) && compiles(simple)
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern)
    return true
  } catch {
    return false
  }
}
