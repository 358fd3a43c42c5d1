import { createHelper, DAY_MS, dateIn } from './people.mjs'
import { addConversation, addMeasurements, addPlan } from './plans.mjs'

const DAYS = 30
const HELP_DAYS = 365

const ASTHMA_PLAN = {
  name: 'Asthma',
  description: 'Play and sleep without coughing',
  goals: [
    {
      name: 'Use the inhaler well',
      dueDate: dateIn(30),
      tasks: [
        { name: 'Practise with the spacer', dueDate: dateIn(-1) },
        { name: 'Measure oxygen after sports', dueDate: dateIn(0) },
      ],
    },
  ],
}

const measurementsOfMonth = (carePlanId) =>
  Array.from({ length: DAYS }, (_, i) => ({
    kind: 'oxygensaturation',
    carePlanId,
    source: 'self-reported',
    timestamp: new Date(Date.now() - (DAYS - 1 - i) * DAY_MS).toISOString(),
    oxygenSaturation: 95 + (i % 4),
    oxygenSaturationUnit: '%',
  }))

/** Fills the record of a child. The parent, who acts for the child as a helper, measures and writes. */
export async function fillChild(service, child, parent, { kim, doctor }) {
  const participants = [
    { ...kim, role: 'Nurse' },
    { ...doctor, role: 'Physician' },
  ]
  const planId = await addPlan(child, ASTHMA_PLAN, participants)
  const acting = await createHelper(service, child, parent, {
    relation: 'PARENT',
    acts: ['READ', 'RECORD', 'MESSAGES', 'PLAN'],
    until: new Date(Date.now() + HELP_DAYS * DAY_MS).toISOString(),
  })
  await addMeasurements(acting, measurementsOfMonth(planId))
  const title = 'Swimming lessons'
  const text = 'May she swim when she has a cold?'
  const answer = 'Yes, if she uses the inhaler first.'
  await addConversation(acting, kim, { type: 'careplan', id: planId }, { title, text, answer })
}
