import type { InstrumentName } from '../../schemas/questionnaire.ts'

interface Instrument {
  items: number
  /** What an answer counts at most; the least is 0. */
  highest: number
  /** ISO 8601. */
  recallPeriod: string
  /** Those without which there is no score. */
  required: readonly number[]
  /** Whether an answer can be that the treatment does not require it. */
  takesNotRequired?: true
  /** What is sent besides the answers. */
  sends?: readonly string[]
}

/** What is public about the questionnaires; their texts are their owners'. */
export const instruments: Readonly<Record<InstrumentName, Instrument>> = {
  ACQ: {
    items: 7,
    highest: 6,
    recallPeriod: 'P1W',
    // Versions 6 and 7 have an item more each.
    required: [1, 2, 3, 4, 5],
    sends: ['version'],
  },
  HADS: { items: 14, highest: 3, recallPeriod: 'P1W', required: [] },
  DSMQ: { items: 16, highest: 3, recallPeriod: 'P8W', required: [], takesNotRequired: true },
}
