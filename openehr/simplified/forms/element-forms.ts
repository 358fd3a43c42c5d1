import { type DraftForm, type FormNode, nameByClass } from './form-node.ts'

/** The classes of a value that no template constrains. */
const VALUE_CLASSES = [
  'DV_TEXT',
  'DV_CODED_TEXT',
  'DV_MULTIMEDIA',
  'DV_PARSABLE',
  'DV_STATE',
  'DV_BOOLEAN',
  'DV_IDENTIFIER',
  'DV_URI',
  'DV_EHR_URI',
  'DV_DURATION',
  'DV_QUANTITY',
  'DV_COUNT',
  'DV_PROPORTION',
  'DV_DATE_TIME',
  'DV_TIME',
  'DV_ORDINAL',
  'DV_DATE',
]

/** The values of an element: its only one, or a choice. They are described as the element. */
export function formsOfElement(element: FormNode, drafts: readonly DraftForm[]): DraftForm[] {
  const values = drafts.filter(({ form }) => form.steps[0]?.attribute === 'value')
  const flavours = drafts.filter(({ form }) => form.steps[0]?.attribute === 'null_flavour')
  const choices = [...values, ...flavours]
  if (choices.length === 0) return VALUE_CLASSES.map((rmType) => anyValue(element, rmType))
  for (const { form } of choices) Object.assign(form, describedAs(element))
  if (values.length === 1 && flavours.length > 0) for (const { form } of choices) nameByClass(form)
  const codedChoice = choices.find(({ form }) => form.rmType === 'DV_CODED_TEXT')
  const isOpen = codedChoice && choices.length === 2 && values.some(({ form }) => form.rmType === 'DV_TEXT')
  return isOpen && flavours.length === 0
    ? [{ ...codedChoice, form: { ...codedChoice.form, isOpen: true } }]
    : choices
}

const describedAs = ({ name, nodeId, termConstraint }: FormNode) => ({
  name,
  ...(nodeId && { nodeId }),
  ...(termConstraint && { termConstraint }),
})

function anyValue({ name, termConstraint, aqlPath }: FormNode, rmType: string): DraftForm {
  const form: FormNode = {
    id: '',
    name,
    rmType,
    min: 0,
    max: 1,
    aqlPath: `${aqlPath}/value`,
    inContext: true,
    ...(termConstraint && { termConstraint }),
    steps: [{ attribute: 'value', multiple: false, rmType }],
    children: [],
    cardinalities: [],
  }
  nameByClass(form)
  return { form, children: [] }
}
