import type { InstrumentName } from '../../schemas/questionnaires/questionnaire.ts'

interface Instrument {
  items: number
  /** The highest value of an answer; the lowest is 0. */
  highest: number
  /** ISO 8601 duration. */
  recallPeriod: string
  /** Items without which there is no score. */
  required: readonly number[]
  /** Whether an item can be answered with "not required by my treatment". */
  takesNotRequired?: true
  /** Fields to send in addition to the answers. */
  sends?: readonly string[]
}

/** The public facts about the questionnaires; their texts belong to their owners. */
export const INSTRUMENTS: Readonly<Record<InstrumentName, Instrument>> = {
  ACQ: {
    items: 7,
    highest: 6,
    recallPeriod: 'P1W',
    // Version 6 has item 6, version 7 also item 7.
    required: [1, 2, 3, 4, 5],
    sends: ['version'],
  },
  HADS: { items: 14, highest: 3, recallPeriod: 'P1W', required: [] },
  DSMQ: { items: 16, highest: 3, recallPeriod: 'P8W', required: [], takesNotRequired: true },
}
