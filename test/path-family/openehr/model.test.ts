import assert from 'node:assert/strict'
import { readXml } from '../../../openehr/formats/xml.ts'
import { type RmObject, readCanonicalJson } from '../../../openehr/rm/canonical-json.ts'
import { toXml, xmlToJson } from '../../../openehr/rm/canonical-xml.ts'
import {
  findRmClass,
  isSubclassOf,
  type RmAttribute,
  rmClassNames,
} from '../../../schemas/openehr/rm-classes.ts'
import { Random } from '../../fuzz/generator/context/random.ts'
import { bySize } from '../../harness/test-size.ts'

/** Values of the primitive types. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  String: ['a', ' <&> "quoted" \n', 'é😀'],
  NonEmptyString: ['at0001'],
  Identifier: ['1.2.3::hrs.local::1'],
  Boolean: [true, false],
  Real: [0, -1.5, 1e-7, 37.2],
  Integer: [0, -3, 42],
  ProportionKind: [0],
  MagnitudeStatus: ['=', '~', '<='],
  Match: ['>', '?'],
  Date: ['2026', '2026-03', '2026-03-01'],
  Time: ['08:30', '08:30:00.5+01:00'],
  DateTime: ['2026-03-01T08:30:00Z', '2026-03'],
  Duration: ['P1Y2M', '-PT24H'],
  Base64: ['aGVsbG8='],
  Uri: ['https://example.org/a?b=c&d'],
  EhrUri: ['ehr://hrs.local/1/2::hrs.local::1'],
}

const coded = (code_string: string) => ({
  _type: 'DV_CODED_TEXT',
  value: 'some code',
  defining_code: {
    _type: 'CODE_PHRASE',
    terminology_id: { _type: 'TERMINOLOGY_ID', value: 'openehr' },
    code_string,
  },
})

/** Attributes with codes of openEHR's terminology, and an example code. */
const GROUPS: Readonly<Record<string, readonly [attribute: string, code: string]>> = {
  COMPOSITION: ['category', '433'],
  EVENT_CONTEXT: ['setting', '238'],
  ELEMENT: ['null_flavour', '271'],
  INTERVAL_EVENT: ['math_function', '146'],
  ISM_TRANSITION: ['current_state', '532'],
}

/** Attributes that the invariants of a class demand although they are optional. */
const DEMANDED: Readonly<Record<string, readonly string[]>> = {
  DV_MULTIMEDIA: ['data', 'integrity_check_algorithm'],
  PARTY_IDENTIFIED: ['name'],
  PARTY_RELATED: ['name'],
  HISTORY: ['events'],
}

/** Values that obey the invariants of each class with such an attribute. */
const VALID_VALUES: Readonly<Record<string, unknown>> = {
  denominator: 2,
  precision: 3,
  size: 42,
  formalism: 'HL7:PIVL',
}

/** The maximum depth of classes that contain each other recursively. */
const DEEPEST = 6

/** An object with all attributes, or with some of its optional ones. */
function objectOf(declaredClass: string, random: Random, depth = 0): RmObject {
  const classes = rmClassNames.filter(
    (name) => isSubclassOf(name, declaredClass) && !findRmClass(name)?.abstract,
  )
  const className = depth === 0 ? declaredClass : random.pick(classes)
  if (className === 'DV_INTERVAL') return interval(random)
  const attributes = [...(findRmClass(className)?.attributes.values() ?? [])]
  const share = depth === 0 ? 0.7 : depth < DEEPEST ? 0.3 : 0
  const isNeeded = ({ name, mandatory }: RmAttribute) => mandatory || DEMANDED[className]?.includes(name)
  const selectedAttributes = attributes.filter((attribute) => isNeeded(attribute) || random.chance(share))
  const group = GROUPS[className]
  const object: RmObject = Object.fromEntries([
    ['_type', className],
    ...selectedAttributes.map((attribute) => [
      attribute.name,
      attribute.name === group?.[0] ? coded(group[1]) : attributeValue(attribute, random, depth),
    ]),
  ])
  return className === 'ELEMENT' ? withValueOrNullFlavour(object) : object
}

const withValueOrNullFlavour = ({ value, null_flavour, null_reason, ...others }: RmObject): RmObject =>
  null_flavour === undefined && value !== undefined
    ? { ...others, value }
    : {
        ...others,
        null_flavour: null_flavour ?? coded('271'),
        ...(null_reason !== undefined && { null_reason }),
      }

function attributeValue({ type, multiple, name }: RmAttribute, random: Random, depth: number): unknown {
  const one = () => (VALUES[type] ? random.pick(VALUES[type]) : objectOf(type, random, depth + 1))
  if (name in VALID_VALUES) return VALID_VALUES[name]
  if (name === 'rows')
    return [{ ...objectOf('CLUSTER', random, depth + 1), items: [objectOf('ELEMENT', random, depth + 1)] }]
  if (name === 'accuracy' && type === 'Real') return 1.5
  return multiple ? Array.from({ length: random.int(1, depth < 3 ? 3 : 1) }, one) : one()
}

/** An interval of two values in order, or an open one. */
function interval(random: Random): RmObject {
  const countOf = (magnitude: number) => ({ _type: 'DV_COUNT', magnitude })
  return random.pick([
    {
      _type: 'DV_INTERVAL',
      lower: countOf(1),
      upper: countOf(2),
      ...included(true, false),
      ...unbounded(false, false),
    },
    { _type: 'DV_INTERVAL', lower: countOf(1), ...included(true, false), ...unbounded(false, true) },
    { _type: 'DV_INTERVAL', ...included(false, false), ...unbounded(true, true) },
  ])
}

const included = (lower_included: boolean, upper_included: boolean) => ({ lower_included, upper_included })
const unbounded = (lower_unbounded: boolean, upper_unbounded: boolean) => ({
  lower_unbounded,
  upper_unbounded,
})

describe('the reference model', () => {
  it('is the same in JSON and in XML: every class with every attribute', () => {
    const coveredAttributes = new Set<string>()
    const random = new Random(7)
    for (const name of rmClassNames) {
      if (findRmClass(name)?.abstract) continue
      for (let i = 0; i < bySize(8, 100); i++) {
        const input = objectOf(name, random)
        const { object, violations } = readCanonicalJson(input, name)
        assert.deepEqual(violations, [], JSON.stringify(input))
        assert.deepEqual(object, input)
        const xml = toXml(object as RmObject, 'object')
        const read = readCanonicalJson(xmlToJson(readXml(Buffer.from(xml), 200), input._type), input._type)
        assert.deepEqual(read, { object, violations: [] }, xml)
        for (const attribute of Object.keys(input)) coveredAttributes.add(`${input._type}.${attribute}`)
      }
    }
    for (const name of rmClassNames) {
      const { abstract, attributes } = findRmClass(name) as NonNullable<ReturnType<typeof findRmClass>>
      for (const attribute of attributes.keys())
        assert.ok(abstract || coveredAttributes.has(`${name}.${attribute}`), `${name}.${attribute}`)
    }
  })

  it('has invariants: openEHR codes, and bounds of intervals', () => {
    const faultsOf = (object: RmObject) =>
      readCanonicalJson(object, object._type).violations.map(({ path, code }) => `${path} ${code}`)
    const random = new Random(7)
    for (const [name, [attribute, code]] of Object.entries(GROUPS)) {
      const object = objectOf(name, random)
      assert.deepEqual(faultsOf({ ...object, [attribute]: coded(code) }), [])
      const faults = [`${attribute}.defining_code.code_string code`]
      assert.deepEqual(faultsOf({ ...object, [attribute]: coded('999') }), faults)
    }
    const countOf = (magnitude: number) => ({ _type: 'DV_COUNT', magnitude })
    const cases: [object, string[]][] = [
      [{ lower: countOf(2), upper: countOf(1) }, ['upper order']],
      [{ lower: countOf(1), lower_unbounded: false, upper_unbounded: false }, ['upper required']],
      [{ lower_unbounded: true, lower_included: true, upper: countOf(1) }, ['lower_included value']],
      [{ upper_unbounded: true, upper_included: true, lower: countOf(1) }, ['upper_included value']],
      [
        { lower: countOf(1), upper: { _type: 'DV_ORDINAL' } },
        ['upper.value required', 'upper.symbol required', 'upper type'],
      ],
    ]
    for (const [ends, faults] of cases) assert.deepEqual(faultsOf({ _type: 'DV_INTERVAL', ...ends }), faults)
  })
})
