const PREFIX = '(?:da|Ki|Mi|Gi|Ti|Y|Z|E|P|T|G|M|k|h|d|c|m|u|n|p|f|a|z|y)'

/** The units of UCUM without brackets (2.2, case sensitive). */
const ATOMS = [
  "m|s|g|rad|K|C|cd|mol|sr|Hz|N|Pa|J|W|A|V|F|Ohm|S|Wb|Cel|T|H|lm|lx|Bq|Gy|Sv|gon|deg|'|''|l|L|ar",
  'min|h|d|a|a_t|a_j|a_g|wk|mo|mo_s|mo_j|mo_g|t|bar|u|eV|AU|pc|atm|gf|Ky|Gal|dyn|erg|P|Bi|St|Mx|G|Oe|Gb',
  'sb|Lmb|ph|Ci|R|RAD|REM|cal|cal_m|cal_IT|cal_th|tex|eq|osm|g%|kat|U|Np|B|st|mho|Ao|b|att|circ|sph',
  'bit|bit_s|By|Bd',
].join('|')

// Any unit in brackets is accepted, so that units of later versions of UCUM are valid too.
const BRACKETS = '\\[[!-Z^-z|~]+\\]'
const WITH_BRACKETS = `(?:m|B|cal_|%)?${BRACKETS}`
const UNIT = `(?:${PREFIX}?(?:${WITH_BRACKETS}|${ATOMS})|%|10[*^])`
const ANNOTATION = '\\{[!-z|~]*\\}'
const COMPONENT = `\\(?(?:(?:${UNIT}(?:[+-]?\\d+)?|\\d+)(?:${ANNOTATION})?|${ANNOTATION})\\)?`
const UCUM_CODE = new RegExp(`^/?${COMPONENT}(?:[./]${COMPONENT})*$`)

/** Whether a text is a unit in the Unified Code for Units of Measure, such as `mm[Hg]` or `{steps}/d`. */
export const isUcumCode = (text: string): boolean => UCUM_CODE.test(text)
