import type { XmlElement } from '../formats/xml.ts'
import type { Interval } from './constraints.ts'

/** Reads the elements of an operational template, independent of their meaning. */

export const childElements = (xml: XmlElement | undefined, name: string): XmlElement[] =>
  xml?.children.filter((child) => child.name === name) ?? []

export const childElement = (xml: XmlElement | undefined, name: string): XmlElement | undefined =>
  xml?.children.find((child) => child.name === name)

/** The text of a descendant element; empty if there is none. */
export const elementText = (xml: XmlElement | undefined, ...path: string[]): string =>
  path.reduce<XmlElement | undefined>(childElement, xml)?.text.trim() ?? ''

export const elementTexts = (xml: XmlElement | undefined, name: string): string[] =>
  childElements(xml, name).map(({ text }) => text)

function readInterval<T>(
  xml: XmlElement | undefined,
  read: (text: string) => T | undefined,
): Interval<T> | undefined {
  if (xml === undefined) return undefined
  const end = (name: string) => {
    const text = elementText(xml, name)
    return text === '' || elementText(xml, `${name}_unbounded`) === 'true' ? undefined : read(text)
  }
  const lower = end('lower')
  const upper = end('upper')
  return {
    ...(lower !== undefined && { lower }),
    ...(upper !== undefined && { upper }),
    lowerIncluded: elementText(xml, 'lower_included') !== 'false',
    upperIncluded: elementText(xml, 'upper_included') !== 'false',
  }
}

const parseNumber = (text: string): number | undefined => {
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

export const readNumberInterval = (xml: XmlElement | undefined): Interval | undefined =>
  readInterval(xml, parseNumber)

/** An interval of counts, which are never negative. */
export const readIntegerInterval = (xml: XmlElement | undefined): Interval | undefined =>
  readInterval(xml, (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined))

export const readTextInterval = (xml: XmlElement | undefined): Interval<string> | undefined =>
  readInterval(xml, (text) => text)
