import { type Static, type TString, type TUnsafe, Type } from '@sinclair/typebox'
import { MAX_POINTS } from '../../../records/charts/graphs.ts'
import { type TimelineEntry, timelineKindsOf } from '../../../records/charts/timeline.ts'
import { measuredValuesIn, TIMELINE_GROUPS } from '../../../records/ehr-records/timeline-definition.ts'
import { CLASS_NAMES, classKindOf, MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import { typeOfMeasure } from '../../../records/user-data/graph-sources.ts'
import { VALUE_SERIES } from '../../../records/user-data/typed-measurement.ts'
import { MedGraph, Timeline } from '../../../schemas/charts/timeline-and-medgraph.ts'
import { choiceViolation } from '../../../schemas/validation/violations.ts'
import { appendQuery, createLinkHead, createOrderParameter } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import type { Services } from '../../operation/services.ts'
import { InvalidInput, locateViolation } from '../../reply/invalid-input.ts'
import { replyWith } from '../../reply/reply.ts'

const summarySource = 'Endpoints, EHR data'

const TIMELINE_KINDS = CLASS_NAMES.flatMap((name) => {
  const { timeline } = classKindOf(name)
  return timeline ? timelineKindsOf(timeline) : []
})

const GRAPH_MEASURES = MEASUREMENT_KINDS.flatMap(({ path, series }) => [
  path,
  ...Object.keys(series).map((name) => `${path}.${name}`),
])

const timeParameter = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description }))

const periodParameters = {
  from: timeParameter('Start of the period: excludes items that ended earlier'),
  to: timeParameter('End of the period: excludes items that begin then or later'),
}

const namesParameter = (name: TString | TUnsafe<string>, description: string, example: string[]) =>
  Type.Optional(Type.Array(name, { maxItems: 100, description, examples: [example] }))

/**
 * Data types are known only in the database.
 * @throws InvalidInput for a name that is neither a measure nor a data type
 */
async function requireMeasures(measures: readonly string[] = [], types: Services['types']) {
  const typeMeasures = measures.filter((name) => !GRAPH_MEASURES.includes(name))
  const existing = await types.data.filterExisting(typeMeasures.map(typeOfMeasure))
  const knownMeasures = [...GRAPH_MEASURES, ...existing.flatMap((type) => [type, `${type}.${VALUE_SERIES}`])]
  const violations = measures.flatMap((name) =>
    knownMeasures.includes(name) ? [] : [choiceViolation('measures', knownMeasures)],
  )
  if (violations.length > 0) throw new InvalidInput(violations.map(locateViolation('query')))
}

const MEASUREMENT_CLASSES = new Set(MEASUREMENT_KINDS.map(({ name }) => name))

const toTimelineEvent = (
  line: TimelineEntry,
  { recordPathOf, historyPathOf }: Pick<Services, 'recordPathOf' | 'historyPathOf'>,
): Static<typeof Timeline>['events'][number] => {
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
    values: measuredValuesIn(values),
    compositionId: MEASUREMENT_CLASSES.has(className) ? record.id : null,
    href: recordPathOf(className, record) ?? null,
    history: historyPathOf(className, record) ?? null,
  }
}

const timelineOperation = defineOperation({
  id: 'showTimeline',
  method: 'get',
  path: '/ehr/{ehrId}/summary/timeline',
  summary: 'Get the timeline of an EHR',
  description:
    'Returns the measurements, questionnaires, events, alerts, care plans, goals, tasks, diagnoses, adverse reactions, medications and immunisations that the caller may see and that overlap the period, sorted by start. vis-timeline can show `events` and `groups` directly.',
  source: summarySource,
  access: 'ehr:read',
  query: {
    ...periodParameters,
    kinds: namesParameter(
      Type.Unsafe({ type: 'string', enum: TIMELINE_KINDS }),
      'Kinds to include; default: all',
      ['bloodpressure', 'alert'],
    ),
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
      Type.String({ maxLength: 1000, description: 'Cursor: `page.next` of the previous response' }),
    ),
    ...createOrderParameter('desc'),
  },
  reply: [200, Timeline],
  handle: async ({ params: { ehrId }, query }, context) => {
    const { caller, timelines } = context
    const { from = null, to = null, limit = 100, order = 'desc' } = query
    const { lines, next, prev } = await timelines.read(caller, ehrId, { ...query, limit, order })
    const path = `/ehr/${ehrId}/summary/timeline`
    const body = {
      ehrId,
      from,
      to,
      groups: Object.entries(TIMELINE_GROUPS).map(([id, content], i) => ({ id, content, order: i + 1 })),
      events: lines.map((line) => toTimelineEvent(line, context)),
      page: { limit, next, prev, order },
      links: { self: appendQuery(path, query), graph: `/ehr/${ehrId}/summary/medgraph` },
    }
    return replyWith(body, createLinkHead(path, query, { prev, next }))
  },
})

const medgraphOperation = defineOperation({
  id: 'showMedGraph',
  method: 'get',
  path: '/ehr/{ehrId}/summary/medgraph',
  summary: 'Get measured values as lines of a graph',
  description:
    'Points are in chronological order, as ECharts, Vega-Lite and Chart.js expect them. A longer line is reduced to `points` points that keep its shape (LTTB); `stats` covers all points.',
  source: summarySource,
  access: 'ehr:read',
  query: {
    ...periodParameters,
    measures: namesParameter(
      Type.String({ maxLength: 1000 }),
      `Measures to include: ${GRAPH_MEASURES.join(', ')}, or data types; default: all`,
      ['bloodpressure', 'bmi'],
    ),
    points: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_POINTS,
        default: 300,
        description: `Maximum number of points per line; 0 means all points, up to ${MAX_POINTS}`,
        examples: [300],
      }),
    ),
  },
  reply: [200, MedGraph],
  handle: async ({ params: { ehrId }, query }, { caller, graphs, types, recordPathOf }) => {
    const { from = null, to = null, points = 300 } = query
    await requireMeasures(query.measures, types)
    const { axes, series, annotations } = await graphs.read(caller, ehrId, { ...query, points })
    return {
      ehrId,
      from,
      to,
      axes,
      series,
      annotations: annotations.map(({ start, end, kind, content, className, record }) => ({
        x: Date.parse(start),
        xEnd: end === null ? null : Date.parse(end),
        kind,
        label: content,
        href: recordPathOf(className, record) ?? null,
      })),
      links: {
        self: appendQuery(`/ehr/${ehrId}/summary/medgraph`, query),
        timeline: `/ehr/${ehrId}/summary/timeline`,
      },
    }
  },
})

export const summaryOperations = [timelineOperation, medgraphOperation]
