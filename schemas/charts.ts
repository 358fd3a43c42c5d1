import { type TProperties, Type } from '@sinclair/typebox'
import { coding } from './coding.ts'
import { closed } from './common.ts'
import { nullable } from './nullable.ts'

const text = (description: string, ...examples: string[]) =>
  Type.String({ description, ...(examples.length > 0 && { examples }) })
const number = (description: string, ...examples: number[]) =>
  Type.Number({ description, ...(examples.length > 0 && { examples }) })
const time = (description: string) =>
  nullable(Type.String({ description, examples: ['2026-03-01T08:30:00.000Z'] }))

const ehrId = text('Id of the EHR', 'e5RtGb81Xz')
const window = { from: time('As requested'), to: time('As requested') }
const href = (description: string) =>
  nullable(text(description, '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io'))
const links = Type.Record(Type.String(), Type.String(), {
  description: 'Links to this resource and to what belongs to it',
  examples: [{ self: '/ehr/e5RtGb81Xz/summary/timeline' }],
})
const member = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { additionalProperties: false, description })

const unit = text('Unit, as UCUM code', 'mm[Hg]')
const unitLabel = text('The unit as people write it', 'mmHg')

const LOINC = 'http://loinc.org'

const TimelineEvent = closed('TimelineEvent', 'An item of the timeline, in the terms of vis-timeline', {
  id: text('Id of the item', 'BloodPressure/m4RtYu78Io'),
  kind: text('The kind of record', 'bloodpressure'),
  group: text('Id of its group', 'measurements'),
  type: Type.Unsafe<'point' | 'range'>({
    type: 'string',
    enum: ['point', 'range'],
    description: 'point: a moment; range: a period, ended or ongoing',
  }),
  content: text('In words', 'Blood pressure 128/82 mmHg'),
  start: text('When it began', '2026-03-01T08:30:00.000Z'),
  end: time('When it ended; null for a moment, and while it is ongoing'),
  ongoing: Type.Boolean({ description: 'Whether it is ongoing' }),
  severity: nullable(
    number(
      'The higher, the worse, among those of its kind: for a measurement that of its usual band, for an event 1 (LOW) to ' +
        '4 (CRITICAL), for a diagnosis 1 to 3, for a reaction its criticality, 1 or 2',
      3,
    ),
  ),
  summary: nullable(text('What it means, or how it ended', 'normal')),
  code: nullable(coding('it', LOINC, '85354-9')),
  values: Type.Array(
    member('A measured value', {
      name: text('Name of the property', 'systolic'),
      value: number('The value', 128),
      unit,
    }),
    { description: 'What was measured, in the units of the kind' },
  ),
  compositionId: nullable(text('Id of the measurement or questionnaire', 'm4RtYu78Io')),
  href: href('Path of the record, where it has one'),
})

export const Timeline = closed('Timeline', 'A page of what happened in an EHR', {
  ehrId,
  ...window,
  groups: Type.Array(
    member('A row of the timeline', {
      id: text('Id of the group', 'measurements'),
      content: text('Its heading', 'Measurements'),
      order: Type.Integer({ description: 'Position from the top', examples: [3] }),
    }),
    { description: 'The rows' },
  ),
  events: Type.Array(TimelineEvent, { description: 'In the requested order' }),
  page: member('The position of this page in the timeline', {
    limit: Type.Integer({ description: 'Maximum number of events', examples: [100] }),
    next: nullable(text('The `cursor` of the next page; null on the last one')),
    prev: nullable(text('The `cursor` of the page before; null on the first one')),
    order: text('asc or desc', 'desc'),
  }),
  links,
})

const Axis = member('A scale', {
  id: text('Id of the axis', 'pressure'),
  label: text('Its heading', 'Blood pressure'),
  unit,
  unitLabel,
  min: number('A round number below all values', 60),
  max: number('A round number above all values', 200),
})

const Point = (description: string) =>
  member(description, {
    x: number('Milliseconds since 1970, in UTC', 1772353800000),
    y: number('The value, in the unit of the series', 128),
  })

const Stats = member('Of all points, not only those returned', {
  min: number('The lowest value', 76),
  max: number('The highest value', 185),
  mean: number('The mean', 128.4),
  last: Point('The newest point'),
})

const GraphSeries = closed('GraphSeries', 'A line of a graph', {
  id: text('Id of the series', 'bloodpressure.systolic'),
  measure: text('The kind of measurement', 'bloodpressure'),
  label: text('Its heading', 'Systolic pressure'),
  code: nullable(coding('what it shows', LOINC, '8480-6')),
  unit,
  unitLabel,
  axis: text('The scale that it is drawn on', 'pressure'),
  kind: text('How it is drawn', 'line'),
  total: Type.Integer({ description: 'How many points there are in all', examples: [100000] }),
  returned: Type.Integer({ description: 'How many points are returned', examples: [300] }),
  sampling: member('How the returned points were chosen', {
    algorithm: text(
      '`lttb`: Largest Triangle Three Buckets, the lowest and the highest kept; `none`: all',
      'lttb',
    ),
    points: Type.Integer({ description: 'How many points are returned', examples: [300] }),
  }),
  stats: nullable(Stats),
  points: Type.Array(Point('A point'), { description: 'In chronological order' }),
  bands: Type.Array(
    member('What the values mean', {
      code: text('Code of the band', 'grade1'),
      label: text('In words', 'Hypertension grade 1'),
      from: nullable(number('Where it begins; null: all that is lower', 140)),
      to: nullable(number('Where it ends; null: all that is higher', 160)),
      severity: number('The higher, the worse', 3),
    }),
    { description: "By the plan's thresholds, else by the usual ones, in ascending order" },
  ),
})

export const MedGraph = closed('MedGraph', 'Measured values as lines that charts can draw as they are', {
  ehrId,
  ...window,
  axes: Type.Array(Axis, { description: 'The scales' }),
  series: Type.Array(GraphSeries, { description: 'The lines' }),
  annotations: Type.Array(
    member('An alert, an event or a diagnosis', {
      x: number('When it began', 1772353800000),
      xEnd: nullable(number('When it ended', 1772357400000)),
      kind: text('alert, event or diagnosis', 'alert'),
      label: text('In words', 'Blood pressure 185/112 mmHg: Hypertension grade 3'),
      href: href('Path of the record'),
    }),
    { description: 'The newest 200 in this period, in chronological order' },
  ),
  links,
})
