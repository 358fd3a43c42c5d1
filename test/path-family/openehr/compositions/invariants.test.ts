import assert from 'node:assert/strict'
import { createPatient, type Patient } from '../../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../../harness/openehr-samples.ts'

const code = (terminology: string, code_string: string) => ({
  terminology_id: { value: terminology },
  code_string,
})
const coded = (code_string: string) => ({
  _type: 'DV_CODED_TEXT',
  value: 'text',
  defining_code: code('openehr', code_string),
})
const quantity = (more: object) => ({ _type: 'DV_QUANTITY', magnitude: 5, units: 'mg', ...more })
const range = (lower: number, upper: number, more = {}) => ({
  lower: quantity({ magnitude: lower }),
  upper: quantity({ magnitude: upper, ...more }),
})
const media = (more: object) => ({
  _type: 'DV_MULTIMEDIA',
  media_type: code('IANA_media-types', 'image/png'),
  size: 5,
  data: 'aGVsbG8=',
  ...more,
})
const proportion = (more: object) => ({
  _type: 'DV_PROPORTION',
  numerator: 1.5,
  denominator: 2,
  type: 0,
  ...more,
})
const value = (one: object) => ({ value: one })
const performer = { _type: 'PARTY_SELF' }
const normal = code('openehr_normal_statuses', 'N')

/** Elements that break a rule of the reference model: the rule, the element, where it is broken. */
const FAULTY_ELEMENTS: readonly [rule: string, element: object, place: string][] = [
  ['Inv_null_flavour_indicated', { value: quantity({}), null_flavour: coded('253') }, '.null_flavour'],
  [
    'Inv_null_reason_valid',
    { value: quantity({}), null_reason: { _type: 'DV_TEXT', value: 'text' } },
    '.null_reason',
  ],
  ['Precision_valid', value(quantity({ precision: -2 })), '.value.precision'],
  ['Accuracy_validity', value(quantity({ accuracy: 101, accuracy_is_percent: true })), '.value.accuracy'],
  [
    'Accuracy_is_percent_validity',
    value(quantity({ accuracy: 0, accuracy_is_percent: true })),
    '.value.accuracy_is_percent',
  ],
  [
    'Normal_range_and_status_consistency',
    value(quantity({ normal_range: range(1, 9), normal_status: code('openehr_normal_statuses', 'H') })),
    '.value.normal_status',
  ],
  ...[
    { ...range(5, 9), lower_included: false, upper_included: true },
    { ...range(1, 5), lower_included: true, upper_included: false },
  ].map((normal_range): [string, object, string] => [
    'Normal_range_and_status_consistency',
    value(quantity({ normal_range, normal_status: normal })),
    '.value.normal_status',
  ]),
  [
    'Range_is_simple',
    value(
      quantity({
        other_reference_ranges: [
          { meaning: { value: 'text' }, range: range(1, 9, { normal_range: range(1, 2) }) },
        ],
      }),
    ),
    '.value.other_reference_ranges.0.range',
  ],
  [
    'Limits_consistent',
    value({ _type: 'DV_INTERVAL', ...range(1, 9, { units: 'kg' }) }),
    '.value.upper.units',
  ],
  ['Precision_validity', value(proportion({ precision: 0 })), '.value.precision'],
  ['Size_valid', value(media({ size: -1 })), '.value.size'],
  [
    'Integrity_check_validity',
    value(media({ integrity_check: 'aGVsbG8=' })),
    '.value.integrity_check_algorithm',
  ],
  [
    'Value_valid',
    value({ _type: 'DV_PERIODIC_TIME_SPECIFICATION', value: { value: 'x', formalism: 'text' } }),
    '.value.value.formalism',
  ],
]

/** The same for attributes of an entry, and for codes and texts without a rule in the message. */
const FAULTY_ENTRIES: readonly [message: RegExp, entry: object, place: string][] = [
  [/Basic_validity/, { provider: { _type: 'PARTY_IDENTIFIED' } }, 'provider'],
  [/not be empty/, { provider: { _type: 'PARTY_IDENTIFIED', name: '' } }, 'provider.name'],
  [
    /one of/,
    { provider: { _type: 'PARTY_RELATED', name: 'Ann', relationship: coded('999') } },
    'provider.relationship.defining_code.code_string',
  ],
  [
    /one of/,
    { other_participations: [{ function: { value: 'text' }, performer, mode: coded('999') }] },
    'other_participations.0.mode.defining_code.code_string',
  ],
  [
    /not be empty/,
    { workflow_id: { id: { _type: 'GENERIC_ID', value: '1', scheme: 'x' }, namespace: '', type: 'X' } },
    'workflow_id.namespace',
  ],
  [
    /not be empty/,
    { feeder_audit: { originating_system_audit: { system_id: '' } } },
    'feeder_audit.originating_system_audit.system_id',
  ],
  [
    /Events_valid/,
    {
      state: {
        archetype_node_id: 'at0020',
        name: { value: 'State' },
        origin: { value: '2026-03-01T08:30:00Z' },
      },
    },
    'state.events',
  ],
]

describe('the invariants of the reference model', () => {
  let patient: Patient
  let template: string
  before(async () => {
    ;[patient, template] = await Promise.all([createPatient(), getStoredTemplate()])
  })

  function commit(entry: object) {
    const composition = createPressureComposition(template, 142)
    Object.assign(composition.content[0] as object, entry)
    return patient.call('POST', `/med/ehr/${patient.ehrId}/composition/json`, composition)
  }
  const commitElement = (element: object) =>
    commit({
      protocol: {
        _type: 'ITEM_TREE',
        archetype_node_id: 'at0010',
        name: { value: 'Protocol' },
        items: [{ _type: 'ELEMENT', archetype_node_id: 'at0011', name: { value: 'Item' }, ...element }],
      },
    })

  it('hold for elements and their values', async () => {
    for (const [rule, element, place] of FAULTY_ELEMENTS) {
      const refusal = await commitElement(element)
      const places = assertProblemPlaces(refusal, 400, 'invalid-input')
      assert.deepEqual(places, [`body.content.0.protocol.items.0${place}`], rule)
      assert.match(refusal.body.errors[0].message, new RegExp(`\\(rule ${rule} of `))
    }
    assertStatus(await commitElement({ null_flavour: coded('253') }), 201)
    const high = code('openehr_normal_statuses', 'H')
    assertStatus(
      await commitElement(value(quantity({ normal_range: range(1, 4), normal_status: high }))),
      201,
    )
    const including = { ...range(5, 5), lower_included: true, upper_included: true }
    assertStatus(
      await commitElement(value(quantity({ normal_range: including, normal_status: normal }))),
      201,
    )
  })

  it('hold for parties, participations, references and histories', async () => {
    for (const [message, entry, place] of FAULTY_ENTRIES) {
      const refusal = await commit(entry)
      assert.deepEqual(assertProblemPlaces(refusal, 400, 'invalid-input'), [`body.content.0.${place}`])
      assert.match(refusal.body.errors[0].message, message)
    }
    assertStatus(await commit({ provider: { _type: 'PARTY_IDENTIFIED', name: 'Ann' } }), 201)
  })
})
