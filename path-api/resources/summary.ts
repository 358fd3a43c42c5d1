import { type Static, type TString, type TUnsafe, Type } from '@sinclair/typebox'
import { MOST_POINTS } from '../../records/charts/graphs.ts'
import { kindsOf, type Line } from '../../records/charts/timeline.ts'
import { CLASS_NAMES, classKind, MEASUREMENTS } from '../../records/kinds.ts'
import { GROUPS } from '../../records/registered/timeline-line.ts'
import { typeIn } from '../../records/user-data/measured-types.ts'
import { SERIES } from '../../records/user-data/typed-measurement.ts'
import { MedGraph, Timeline } from '../../schemas/charts.ts'
import { answer } from '../answer/answer.ts'
import { InvalidInput, placedIn } from '../answer/invalid-input.ts'
import { linked, ordering, withQuery } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import type { Services } from '../operation/services.ts'

const source = 'Endpoints, EHR data'

const KINDS = CLASS_NAMES.flatMap((name) => {
  const { timeline } = classKind(name)
  return timeline ? kindsOf(timeline) : []
})

const MEASURES = MEASUREMENTS.flatMap(({ path, series }) => [
  path,
  ...Object.keys(series).map((name) => `${path}.${name}`),
])

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const window = {
  from: time('What ended before this is left out'),
  to: time('What begins at this moment or later is left out'),
}

const names = (name: TString | TUnsafe<string>, description: string, example: string[]) =>
  Type.Optional(Type.Array(name, { maxItems: 100, description, examples: [example] }))

/** Of data types only the database knows. @throws InvalidInput for what is neither a measure nor one of them */
async function requireMeasures(sent: readonly string[] = [], types: Services['types']) {
  const others = sent.filter((name) => !MEASURES.includes(name))
  const found = await types.data.known(others.map(typeIn))
  const known = [...MEASURES, ...found.flatMap((type) => [type, `${type}.${SERIES}`])]
  const message = `must be one of ${known.join(', ')}`
  const violations = sent.flatMap((name) =>
    known.includes(name) ? [] : [{ path: 'measures', code: 'enum', message }],
  )
  if (violations.length > 0) throw new InvalidInput(violations.map(placedIn('query')))
}

type AddressOf = (className: string, record: object) => string | undefined

/** A value that a client has put into an event of its own may be anything. */
function isValue(one: unknown): one is Static<typeof Timeline>['events'][number]['values'][number] {
  const { name, value, unit } = (one ?? {}) as Record<string, unknown>
  const fits = typeof name === 'string' && typeof value === 'number' && typeof unit === 'string'
  return fits && Object.keys(one as object).length === 3
}

const MEASURED = new Set(MEASUREMENTS.map(({ name }) => name))

const eventOf = (line: Line, addressOf: AddressOf): Static<typeof Timeline>['events'][number] => {
  const { id, kind, group, content, start, end, ongoing, values, className, record } = line
  return {
    id,
    kind,
    group,
    type: end !== null || ongoing ? 'range' : 'point',
    content,
    start,
    end,
    ongoing,
    severity: line.severity ?? null,
    summary: line.summary || null,
    code: line.code ?? null,
    values: Array.isArray(values) ? values.filter(isValue) : [],
    compositionId: MEASURED.has(className) ? record.id : null,
    href: addressOf(className, record) ?? null,
  }
}

const timeline = operation({
  id: 'showTimeline',
  method: 'get',
  path: '/ehr/{ehrId}/summary/timeline',
  summary: 'Show the timeline of an EHR',
  description:
    'Measurements, questionnaires, events, alerts, care plans, goals, tasks, diagnoses and adverse reactions that the caller may see and that overlap the requested period, by their start. vis-timeline shows events and groups as they are.',
  source,
  access: 'ehr:read',
  query: {
    ...window,
    kinds: names(Type.Unsafe({ type: 'string', enum: KINDS }), 'Only these', ['bloodpressure', 'alert']),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        default: 100,
        description: 'Maximum number of events',
        examples: [100],
      }),
    ),
    cursor: Type.Optional(
      Type.String({ maxLength: 1000, description: 'Cursor: `page.next` of the previous answer' }),
    ),
    ...ordering('desc'),
  },
  reply: [200, Timeline],
  handle: async ({ params: { ehrId }, query }, { caller, timelines, addressOf }) => {
    const { from = null, to = null, limit = 100, order = 'desc' } = query
    const { lines, next, prev } = await timelines.read(caller, ehrId, { ...query, limit, order })
    const path = `/ehr/${ehrId}/summary/timeline`
    const body = {
      ...{ ehrId, from, to },
      groups: Object.entries(GROUPS).map(([id, content], i) => ({ id, content, order: i + 1 })),
      events: lines.map((line) => eventOf(line, addressOf)),
      page: { limit, next, prev, order },
      links: { self: withQuery(path, query), graph: `/ehr/${ehrId}/summary/medgraph` },
    }
    return answer(body, linked(path, query, { prev, next }))
  },
})

const medgraph = operation({
  id: 'showMedGraph',
  method: 'get',
  path: '/ehr/{ehrId}/summary/medgraph',
  summary: 'Show measured values as lines of a graph',
  description:
    'Points are in chronological order, as ECharts, Vega-Lite and Chart.js draw them. A longer line is reduced to `points` points that keep its shape (LTTB); `stats` are those of all points.',
  source,
  access: 'ehr:read',
  query: {
    ...window,
    measures: names(Type.String({ maxLength: 1000 }), `Only these: ${MEASURES.join(', ')}; or data types`, [
      'bloodpressure',
      'bmi',
    ]),
    points: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MOST_POINTS,
        default: 300,
        description: `Maximum number of points in a line; 0: all of them, up to ${MOST_POINTS}`,
        examples: [300],
      }),
    ),
  },
  reply: [200, MedGraph],
  handle: async ({ params: { ehrId }, query }, { caller, graphs, types, addressOf }) => {
    const { from = null, to = null, points = 300 } = query
    await requireMeasures(query.measures, types)
    const { axes, series, annotations } = await graphs.read(caller, ehrId, { ...query, points })
    return {
      ...{ ehrId, from, to, axes, series },
      annotations: annotations.map(({ start, end, kind, content, className, record }) => ({
        ...{ x: Date.parse(start), xEnd: end === null ? null : Date.parse(end), kind, label: content },
        href: addressOf(className, record) ?? null,
      })),
      links: {
        self: withQuery(`/ehr/${ehrId}/summary/medgraph`, query),
        timeline: `/ehr/${ehrId}/summary/timeline`,
      },
    }
  },
})

export const summaries = [timeline, medgraph]
