const longest = 200
/** How often a pattern may leave open how much it takes: each one multiplies the ways to try. */
const most = { repetitions: 2, options: 4, alternatives: 8 }

/**
 * Whether a regular expression can be matched in reasonable time: nothing but a single character or a class is
 * repeated, few things are left open, no look-around and no back-reference. `\Q…\E` quotes a text, as the SDKs'
 * startsWith and contains send it.
 */
export function isSafePattern(pattern: string): boolean {
  if (pattern.length > longest) return false
  const unquoted = pattern.replace(/\\Q[\s\S]*?(\\E|$)/g, (quoted) => 'x'.repeat(quoted.length > 2 ? 1 : 0))
  if (/\(\?(?!:)|\\[1-9kgpP]/.test(unquoted)) return false
  const simple = unquoted.replace(/\\[\s\S]/g, 'x').replace(/\[\^?\]?[^\]]*\]/g, 'x')
  const count = (part: RegExp): number => simple.match(part)?.length ?? 0
  return (
    !/\)[*+{]/.test(simple) &&
    count(/[*+]|\{\d*,\d*\}/g) <= most.repetitions &&
    count(/(?<!\()\?/g) <= most.options &&
    count(/\|/g) <= most.alternatives &&
    [...simple.matchAll(/\{(\d*),?(\d*)\}/g)].every((bounds) =>
      bounds.slice(1).every((n) => Number(n) <= longest),
    ) &&
    compiles(simple)
  )
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern)
    return true
  } catch {
    return false
  }
}
