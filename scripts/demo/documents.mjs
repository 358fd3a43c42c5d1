import { DAY_MS } from './people.mjs'

const BUILT_IN_TEMPLATE = 'hrs.bodytemperature.v1'
const TEMPLATE = 'practice_visit.v1'
const VISITS = [
  [300, 36.8],
  [170, 38.4],
  [40, 37],
]

/** Uploads a template of openEHR, as a modeller does: the built-in one with an id and a name of its own. */
async function uploadTemplate({ client }) {
  const { data } = await client.GET('/med/knowledge/template/{concept}', {
    params: { path: { concept: BUILT_IN_TEMPLATE } },
    headers: { accept: 'application/xml' },
    parseAs: 'text',
  })
  const body = data.replace(BUILT_IN_TEMPLATE, TEMPLATE).replace(/<concept>[^<]*/, '<concept>Practice visit')
  await client.POST('/med/knowledge/template', { body, headers: { 'content-type': 'application/xml' } })
}

/** A composition with other times and another value. */
const varyComposition = (example, time, magnitude) =>
  JSON.parse(JSON.stringify(example), (_, value) => {
    if (value?._type === 'DV_DATE_TIME') return { ...value, value: time }
    return value?._type === 'DV_QUANTITY' ? { ...value, magnitude } : value
  })

/** Stores compositions of a template that is uploaded first. */
export async function addDocuments(modeller, doctor, { ehrId }, carePlanId) {
  await uploadTemplate(modeller)
  const { data: example } = await doctor.client.GET('/med/knowledge/template/{concept}/example', {
    params: { path: { concept: TEMPLATE }, query: { detail_level: 'medium' } },
  })
  for (const [daysAgo, temperature] of VISITS)
    await doctor.client.POST('/med/ehr/{ehrId}/composition/json', {
      params: { path: { ehrId }, query: { carePlanId } },
      body: varyComposition(example, new Date(Date.now() - daysAgo * DAY_MS).toISOString(), temperature),
    })
}
