import { DAY_MS, dateIn } from './people.mjs'
import { addConversation, addMeasurements, addPlan, takeAlert } from './plans.mjs'

const DAYS = 365
/** Days ago on which the upper pressure was far too high, which raises an alert. */
const HIGH_PRESSURE_DAYS = [2, 8]
const HIGH_PRESSURE_EXCESS = 60

const DIABETES_PLAN = {
  name: 'Diabetes and blood pressure',
  description: 'Below 140/90, and blood sugar from 4 to 8',
  thresholds: { bloodpressure: 'esc2018' },
  goals: [
    {
      name: 'Walk every day',
      description: 'Half an hour, five days a week',
      dueDate: dateIn(90),
      tasks: [
        { name: 'Buy walking shoes', dueDate: dateIn(-2), description: 'With a firm sole' },
        { name: 'Measure blood pressure before breakfast', dueDate: dateIn(0) },
        { name: 'Call the dietician', dueDate: dateIn(6) },
      ],
    },
  ],
}

const WEIGHT_PLAN = {
  name: 'A healthy weight',
  description: 'From 81 to 76 kilograms within a year',
  goals: [
    {
      name: 'Eat less sugar',
      description: 'Water in place of soft drinks',
      dueDate: dateIn(60),
      tasks: [
        { name: 'Write down what you eat for a week', dueDate: dateIn(-5) },
        { name: 'Weigh yourself before breakfast', dueDate: dateIn(0) },
      ],
    },
    { name: 'Sleep seven hours', dueDate: dateIn(120), tasks: [{ name: 'Put the phone away at ten' }] },
  ],
}

/** A number that goes up and down over the year, the same in each demo. */
const wave = (day, mean, width) =>
  Math.round((mean + width * Math.sin(day / 17) + (width / 2) * Math.sin(day * 2.3)) * 10) / 10

/** The measurements of a day, `day` days ago. */
function measurementsOf(day, carePlanId) {
  const at = {
    carePlanId,
    timestamp: new Date(Date.now() - day * DAY_MS).toISOString(),
    source: 'self-reported',
  }
  const excess = HIGH_PRESSURE_DAYS.includes(day) ? HIGH_PRESSURE_EXCESS : 0
  const pressure = {
    systolic: Math.round(wave(day, 126, 8) + excess),
    systolicUnit: 'mm[Hg]',
    diastolic: Math.round(wave(day, 80, 5)),
    diastolicUnit: 'mm[Hg]',
  }
  return [
    ...(day % 2 === 0 ? [{ ...at, kind: 'bloodpressure', ...pressure }] : []),
    ...(day % 7 === 0 ? [{ ...at, kind: 'bodyweight', weight: wave(day, 81, 2), weightUnit: 'kg' }] : []),
    { ...at, kind: 'bloodglucose', bloodGlucose: wave(day, 7, 1.4), bloodGlucoseUnit: 'mmol/L' },
    { ...at, kind: 'heartrate', heartRate: Math.round(wave(day, 70, 6)), heartRateUnit: '/min' },
  ]
}

const measurementsOfYear = (carePlanId) =>
  Array.from({ length: DAYS }, (_, day) => measurementsOf(DAYS - 1 - day, carePlanId)).flat()

async function addConditions({ client, ehrId }) {
  const path = { ehrId }
  for (const body of [
    { name: 'Type 2 diabetes', onset: '2019-05-01', status: 'active', severity: 'moderate' },
    { name: 'High blood pressure', onset: '2021-02-01', status: 'active', severity: 'mild' },
  ])
    await client.POST('/ehr/{ehrId}/diagnosis', { params: { path }, body })
  await client.PUT('/ehr/{ehrId}/adversereaction/{substance}', {
    params: { path: { ehrId, substance: 'Penicillin' } },
    body: { substance: 'Penicillin', criticality: 'high', reactions: [{ manifestation: 'Rash' }] },
  })
}

/**
 * Fills the record of the patient: plans, a year of measurements, alerts of which one is taken, and messages.
 * @returns the id of the plan in which the physician takes part
 */
export async function fillPatient(patient, { bo, kim, doctor }) {
  const nurses = [
    { ...bo, role: 'Diabetes nurse' },
    { ...kim, role: 'Nurse' },
  ]
  const planId = await addPlan(patient, DIABETES_PLAN, [...nurses, { ...doctor, role: 'Physician' }])
  await addPlan(patient, WEIGHT_PLAN, nurses)
  await addConditions(patient)
  await addMeasurements(patient, measurementsOfYear(planId))
  await takeAlert(bo, patient)
  const subject = { type: 'careplan', id: planId }
  const title = 'The new tablets'
  const text = 'Do they go with the old ones?'
  await addConversation(patient, bo, subject, {
    title,
    text,
    answer: 'Yes, they do. Take them in the morning.',
  })
  await addConversation(patient, bo, subject, { title: 'Holiday', text: 'May I skip a measurement?' })
  return planId
}
