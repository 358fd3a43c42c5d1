import { Device as forms } from '../../schemas/device.ts'
import { kind, type Values } from '../registered/kind.ts'
import { sameWriting } from '../store/reading/words.ts'
import { blank } from './rules.ts'

/** Its name says which device it is only when nothing better does: there may be two thermometers. */
function knownBy({ name, ...labels }: Values): string[] {
  const told = (['serial', 'udi'] as const).flatMap((field) => {
    const label = labels[field]
    return label === undefined ? [] : [`${field} ${sameWriting(String(label))}`]
  })
  return told.length > 0 ? told : [`name ${sameWriting(String(name))}`]
}

export const Device = kind(forms, {
  words: { en: 'devices', nl: 'medische hulpmiddelen' },
  known: { by: ['name', 'serial', 'udi'], as: knownBy },
  rules: {
    together: [],
    violations: (values) => ['name', 'serial', 'udi'].flatMap((field) => blank(values, field)),
  },
  lists: { ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
})
