import { type TProperties, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { nullable } from './nullable.ts'

const text = (description: string, ...examples: string[]) =>
  Type.String({ description, ...(examples.length > 0 && { examples }) })
const number = (description: string, ...examples: number[]) =>
  Type.Number({ description, ...(examples.length > 0 && { examples }) })
const time = (description: string) =>
  nullable(Type.String({ description, examples: ['2026-03-01T08:30:00.000Z'] }))

const ehrId = text('Id of the EHR', 'e5RtGb81Xz')
const window = { from: time('As it was asked'), to: time('As it was asked') }
const href = (description: string) =>
  nullable(text(description, '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io'))
const links = Type.Record(Type.String(), Type.String(), {
  description: 'Where this is, and what belongs to it',
  examples: [{ self: '/ehr/e5RtGb81Xz/summary/timeline' }],
})
const part = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { additionalProperties: false, description })

const unit = text('As UCUM code', 'mm[Hg]')
const unitLabel = text('As people write it', 'mmHg')

const TimelineEvent = closed(
  'TimelineEvent',
  'What happened, or lasted, in an EHR; the names are those of vis-timeline',
  {
    id: text('Of this line', 'BloodPressure/m4RtYu78Io'),
    kind: text('What it is', 'bloodpressure'),
    group: text('The group that it stands in', 'measurements'),
    type: Type.Unsafe<'point' | 'range'>({
      type: 'string',
      enum: ['point', 'range'],
      description: 'A moment, or a time that has an end or goes on',
    }),
    content: text('In words', 'Blood pressure 128/82 mmHg'),
    start: text('When it began', '2026-03-01T08:30:00.000Z'),
    end: time('When it was over; null for a moment, and for what goes on'),
    ongoing: Type.Boolean({ description: 'Whether it goes on' }),
    severity: nullable(text('LOW, MODERATE, HIGH or CRITICAL, where it has one', 'HIGH')),
    summary: nullable(text('What it means, or how it ended', 'normal')),
    code: nullable(text('In LOINC, SNOMED CT or ICD, where it has one', '85354-9')),
    values: Type.Array(
      part('A measured value', { name: text('Of what', 'systolic'), value: number('How much', 128), unit }),
      { description: 'What was measured, in the units of the kind' },
    ),
    compositionId: nullable(text('Of a measurement or a questionnaire', 'm4RtYu78Io')),
    href: href('The record itself, where it can be shown by itself'),
  },
)

export const Timeline = closed('Timeline', 'A page of what happened in an EHR', {
  ehrId,
  ...window,
  groups: Type.Array(
    part('A row of the timeline', {
      id: text('Of the group', 'measurements'),
      content: text('Its heading', 'Measurements'),
      order: Type.Integer({ description: 'From the top', examples: [3] }),
    }),
    { description: 'The rows' },
  ),
  events: Type.Array(TimelineEvent, { description: 'In the order that was asked for' }),
  page: part('Which part of the timeline this is', {
    limit: Type.Integer({ description: 'Events at most', examples: [100] }),
    next: nullable(text('The `cursor` of the next page; null on the last one')),
    order: text('asc or desc', 'desc'),
  }),
  links,
})

const Axis = part('A scale', {
  id: text('Of the axis', 'pressure'),
  label: text('Its heading', 'Blood pressure'),
  unit,
  unitLabel,
  min: number('A round number below all values', 60),
  max: number('A round number above all values', 200),
})

const Stats = part('Of all points, not of those that are told', {
  min: number('The lowest value', 76),
  max: number('The highest value', 185),
  mean: number('The mean', 128.4),
  last: number('The value of the newest point', 118),
})

const GraphSeries = closed('GraphSeries', 'A line of a graph', {
  id: text('Of the series', 'bloodpressure.systolic'),
  measure: text('The kind of measurement', 'bloodpressure'),
  label: text('Its heading', 'Systolic pressure'),
  code: nullable(text('In LOINC', '8480-6')),
  unit,
  unitLabel,
  axis: text('The scale that it is drawn on', 'pressure'),
  kind: text('How it is drawn', 'line'),
  total: Type.Integer({ description: 'How many points there are', examples: [100000] }),
  returned: Type.Integer({ description: 'How many are told', examples: [300] }),
  sampling: part('How those were chosen that are told', {
    algorithm: text(
      '`lttb`: Largest Triangle Three Buckets, the lowest and the highest kept; `none`: all',
      'lttb',
    ),
    points: Type.Integer({ description: 'How many are told', examples: [300] }),
  }),
  stats: nullable(Stats),
  points: Type.Array(
    part('A point', {
      x: number('Milliseconds since 1970, in UTC', 1772353800000),
      y: number('The value, in the unit of the series', 128),
    }),
    { description: 'In the order of time' },
  ),
  bands: Type.Array(
    part('What the values mean', {
      code: text('Of the condition', 'grade1'),
      label: text('In words', 'Hypertension grade 1'),
      from: number('Where it begins', 140),
      to: number('Where it ends', 160),
      severity: number('The higher, the worse', 3),
    }),
    { description: "By the plan's thresholds, else by the usual ones; from the lowest up" },
  ),
})

export const MedGraph = closed('MedGraph', 'Measured values as lines, which charts draw as they are', {
  ehrId,
  ...window,
  axes: Type.Array(Axis, { description: 'The scales' }),
  series: Type.Array(GraphSeries, { description: 'The lines' }),
  annotations: Type.Array(
    part('An alert or an event', {
      x: number('When it began', 1772353800000),
      xEnd: nullable(number('When it was over', 1772357400000)),
      kind: text('alert or event', 'alert'),
      label: text('In words', 'Blood pressure 185/112 mmHg: Hypertension grade 3'),
      href: href('The event itself'),
    }),
    { description: 'The newest 200 in this time, in the order of time' },
  ),
  links,
})
