import { hasUserIdFormat } from '../../ehrs/rights/access.ts'
import { elementAt } from '../../fhir/element-paths.ts'
import {
  codeElement,
  constantElement,
  extensionElement,
  ownUri,
  referenceElement,
  userIdOf,
  userReference,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import {
  constantToken,
  dateParameter,
  periodParameter,
  referenceParameter,
  userParameter,
  wordToken,
} from '../../fhir/search/search-parameters.ts'
import { metadataElement } from './plan-elements.ts'

const STATUSES = { ACTIVE: 'ready', COMPLETED: 'completed', CANCELLED: 'cancelled' }
const PRIORITIES = { LOW: 'routine', NORMAL: 'routine', HIGH: 'urgent' }
const LOW = { extension: [{ url: ownUri('priority'), valueCode: 'LOW' }] }

/** FHIR has no priority below routine, so that an extension keeps it. */
const priorityElement: FhirElement = {
  paths: { priority: 'priority' },
  codes: { priority: Object.values(PRIORITIES) },
  show: ({ priority }) => ({
    ...(priority !== undefined && { priority: PRIORITIES[priority as 'LOW'] ?? priority }),
    ...(priority === 'LOW' && { _priority: LOW }),
  }),
  read: ({ priority, _priority }) => {
    if (elementAt(_priority, 'extension[0].valueCode') === 'LOW') return { priority: 'LOW' }
    const [word = priority] = priority === 'routine' ? ['NORMAL'] : priority === 'urgent' ? ['HIGH'] : []
    return { priority: word }
  },
}

/** The assignee may be a user, or anybody else. */
const assigneeElement: FhirElement = {
  paths: { assignee: 'owner.identifier.value' },
  namesUsers: true,
  show: ({ assignee }) =>
    assignee === undefined
      ? {}
      : { owner: hasUserIdFormat(assignee) ? userReference(assignee) : { identifier: { value: assignee } } },
  read: ({ owner }) => ({ assignee: userIdOf(owner) ?? elementAt(owner, 'identifier.value') }),
}

const PERIOD_UNITS: Readonly<Record<string, string>> = { DAY: 'd', WEEK: 'wk', MONTH: 'mo' }
const REPEAT_URL = ownUri('repeat')
const REPEAT_PATH = `extension.where(url='${REPEAT_URL}').valueTiming.repeat`

const repeatElement: FhirElement = {
  paths: {
    repeat: REPEAT_PATH,
    'repeat.every': `${REPEAT_PATH}.period`,
    'repeat.period': `${REPEAT_PATH}.periodUnit`,
  },
  codes: { 'repeat.period': Object.values(PERIOD_UNITS) },
  show: ({ repeat }) => {
    if (repeat === undefined) return {}
    const { every, period } = repeat as { every: number; period: string }
    const valueTiming = { repeat: { frequency: 1, period: every, periodUnit: PERIOD_UNITS[period] } }
    return { extension: [{ url: REPEAT_URL, valueTiming }] }
  },
  read: ({ extension }) => {
    const repeatExtension = (Array.isArray(extension) ? extension : []).find((one) => one?.url === REPEAT_URL)
    if (repeatExtension === undefined) return { repeat: undefined }
    const unit = elementAt(repeatExtension, 'valueTiming.repeat.periodUnit')
    const [period = unit] = Object.entries(PERIOD_UNITS).find(([, code]) => code === unit) ?? []
    return { repeat: { every: elementAt(repeatExtension, 'valueTiming.repeat.period'), period } }
  },
}

export const taskMapping: FhirMapping = {
  type: 'Task',
  elements: [
    codeElement('status', 'status', STATUSES),
    constantElement('intent', 'order'),
    priorityElement,
    valueElement('name', 'code.text'),
    valueElement('description', 'description'),
    referenceElement('goalId', 'focus', 'Goal'),
    referenceElement('ehrId', 'for', 'Patient'),
    referenceElement('carePlanId', 'basedOn[0]', 'CarePlan'),
    metadataElement('createdAt', 'authoredOn'),
    { ...metadataElement('updatedAt', 'lastModified'), ignored: ['lastModified'] },
    assigneeElement,
    valueElement('dueDate', 'restriction.period.end'),
    valueElement('achievementDate', 'executionPeriod.end'),
    repeatElement,
    valueElement('notes', 'note[0].text'),
    extensionElement('outcome', ownUri('outcome'), 'valueString'),
  ],
  required: ['status', 'intent', 'for', 'focus', 'code'],
  search: {
    status: wordToken('Status of the task', 'status', STATUSES),
    priority: wordToken('Priority', 'priority', PRIORITIES),
    intent: constantToken('Intent: always order', [{ code: 'order' }]),
    owner: userParameter('Assignee: a user, or any text as identifier', 'assignee', 'owner'),
    'based-on': referenceParameter('Care plan', 'carePlanId', 'CarePlan'),
    focus: referenceParameter('Goal', 'goalId', 'Goal'),
    'authored-on': dateParameter('Time of creation', 'createdAt'),
    modified: dateParameter('Time of the last change', 'updatedAt'),
    period: periodParameter('Time until the task was completed', [], ['achievementDate']),
  },
  sortedBy: 'authored-on',
}
