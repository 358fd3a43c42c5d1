/** Runs regular expressions as automata, and counts their steps. */
import type { RE2JS } from 're2js'
import { fail } from '../../values/errors.ts'

/** Limits work that is done without a pause. A step takes about 5 ns. */
export interface RegexBudget {
  /** Call it for work that has been done, or is about to be. @throws when the budget is used up */
  consume(steps: number): void
}

/** The steps of all matches on one document. */
const MAX_STEPS = 4_000_000

/** The budget of the matches that run without a pause, such as those on one document. */
export class MatchSteps implements RegexBudget {
  #left = MAX_STEPS

  /** @throws 50 */
  consume(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) fail(50, 'regular expressions take too long on the texts of one document')
  }

  refill(): void {
    this.#left = MAX_STEPS
  }
}

/** The steps for each instruction that a new state of the automaton stands for. */
const STEPS_PER_INSTRUCTION = 40
/** Characters between two checks of the budget. */
const STRIDE = 4096

const UNANCHORED = 0
const END_OF_TEXT = -1
/** At the beginning of the text, which is also that of a line. */
const AT_BEGINNING = { context: () => 5 }

/**
 * Whether a part of the text matches. The library's own search would count no steps, and has no limit but the
 * product of both lengths. Most patterns have few states, so that their matches take one step for each character.
 */
export const testInSteps = (regex: RE2JS, text: string, budget: RegexBudget): boolean => {
  const re2 = regex.re2()
  if (re2.prefixComplete) {
    budget.consume(text.length)
    return regex.test(text)
  }
  const { dfa } = re2
  let state = dfa.start(AT_BEGINNING, 0)
  const advance = (kind: number, character: number) => {
    const next =
      dfa.step(state, kind, character, UNANCHORED) ??
      // The cache of states is full.
      dfa.step(dfa.resetCache(state), kind, character, UNANCHORED)
    budget.consume(STEPS_PER_INSTRUCTION * (1 + next.nfaStates.length))
    return next
  }
  for (let at = 0; at < text.length; ) {
    const stop = Math.min(text.length, at + STRIDE)
    budget.consume(stop - at)
    while (at < stop) {
      const character = text.codePointAt(at) as number
      const kind = dfa.runeClass(character)
      state = state.next?.[kind] ?? advance(kind, character)
      if (state.isMatch) return true
      at += character > 0xffff ? 2 : 1
    }
  }
  return advance(dfa.numClasses, END_OF_TEXT).isMatch
}
