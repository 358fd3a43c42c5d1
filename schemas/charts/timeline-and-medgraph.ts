import { type TProperties, Type } from '@sinclair/typebox'
import { codingField } from '../coding.ts'
import { closedObject, pathField } from '../common.ts'
import { BandLevelEnum } from '../enums.ts'
import { nullable } from '../forms/nullable.ts'

const chartText = (description: string, ...examples: string[]) =>
  Type.String({ description, ...(examples.length > 0 && { examples }) })
const chartNumber = (description: string, ...examples: number[]) =>
  Type.Number({ description, ...(examples.length > 0 && { examples }) })
const nullableTimeField = (description: string) =>
  nullable(Type.String({ description, examples: ['2026-03-01T08:30:00.000Z'] }))

const chartEhrIdField = chartText('Id of the EHR', 'e5RtGb81Xz')
const requestedPeriodFields = {
  from: nullableTimeField('Start of the requested period; null if unlimited'),
  to: nullableTimeField('End of the requested period; null if unlimited'),
}
const recordLinkField = (description: string) =>
  nullable(pathField(description, '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io'))
const chartLinksField = Type.Record(Type.String(), Type.String({ format: 'uri-reference' }), {
  description: 'Links to this resource and to related resources',
  examples: [{ self: '/ehr/e5RtGb81Xz/summary/timeline' }],
})
const chartObject = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { additionalProperties: false, description })

const unitCodeField = chartText('Unit, as UCUM code', 'mm[Hg]')
const unitLabelField = chartText('Unit for display', 'mmHg')

const LOINC_URI = 'http://loinc.org'

export const measuredValuesField = Type.Array(
  chartObject('A measured value', {
    name: chartText('Name of the property', 'systolic'),
    value: chartNumber('Measured value', 128),
    unit: unitCodeField,
  }),
  { description: 'Measured values, in the standard units of the kind' },
)

const TimelineEvent = closedObject(
  'TimelineEvent',
  'An item of the timeline, with the properties of vis-timeline',
  {
    id: chartText('Id of the item', 'BloodPressure/m4RtYu78Io'),
    kind: chartText('Kind of the record', 'bloodpressure'),
    group: chartText('Id of the group that contains the item', 'measurements'),
    type: Type.Unsafe<'point' | 'range'>({
      type: 'string',
      enum: ['point', 'range'],
      description: 'Shape of the item. point: a moment; range: a period, ended or ongoing',
    }),
    content: chartText('Text of the item', 'Blood pressure 128/82 mmHg'),
    start: chartText('Start time', '2026-03-01T08:30:00.000Z'),
    end: nullableTimeField('End time; null for a moment and for an ongoing item'),
    ongoing: Type.Boolean({ description: 'True if the item is ongoing' }),
    severity: nullable(
      chartNumber(
        'Severity within its kind (higher is worse). Measurements: the default band; events: 1 (LOW) to 4 (CRITICAL); ' +
          'diagnoses: 1 to 3; adverse reactions: the criticality, 1 or 2',
        3,
      ),
    ),
    summary: nullable(chartText('Interpretation or outcome', 'normal')),
    code: nullable(codingField('the item', LOINC_URI, '85354-9')),
    values: measuredValuesField,
    compositionId: nullable(chartText('Id of the measurement or questionnaire', 'm4RtYu78Io')),
    href: recordLinkField('Path of the record; null if it has none'),
    history: recordLinkField('Path of the history of the record; null if it has none'),
  },
)

export const Timeline = closedObject('Timeline', 'A page of the timeline of an EHR', {
  ehrId: chartEhrIdField,
  ...requestedPeriodFields,
  groups: Type.Array(
    chartObject('A row of the timeline', {
      id: chartText('Id of the group', 'measurements'),
      content: chartText('Heading', 'Measurements'),
      order: Type.Integer({ description: 'Position from the top', examples: [3] }),
    }),
    { description: 'Rows of the timeline' },
  ),
  events: Type.Array(TimelineEvent, { description: 'Items in the requested order' }),
  page: chartObject('The position of this page in the timeline', {
    limit: Type.Integer({ description: 'Maximum number of events', examples: [100] }),
    next: nullable(chartText('Cursor of the next page; null on the last page')),
    prev: nullable(chartText('Cursor of the previous page; null on the first page')),
    order: chartText('Sort order: asc or desc', 'desc'),
  }),
  links: chartLinksField,
})

const Axis = chartObject('An axis', {
  id: chartText('Id of the axis', 'pressure'),
  label: chartText('Heading', 'Blood pressure'),
  unit: unitCodeField,
  unitLabel: unitLabelField,
  min: chartNumber('Lower end of the axis: a round number below all values', 60),
  max: chartNumber('Upper end of the axis: a round number above all values', 200),
})

const Point = (description: string) =>
  chartObject(description, {
    x: chartNumber('Time, in milliseconds since 1970 (UTC)', 1772353800000),
    y: chartNumber('Value, in the unit of the series', 128),
  })

const Stats = chartObject('Statistics of all points, including those that are not returned', {
  min: chartNumber('Lowest value', 76),
  max: chartNumber('Highest value', 185),
  mean: chartNumber('Mean of the values', 128.4),
  last: Point('Newest point'),
})

const GraphSeries = closedObject('GraphSeries', 'A line of a graph', {
  id: chartText('Id of the series', 'bloodpressure.systolic'),
  measure: chartText('Kind of measurement', 'bloodpressure'),
  label: chartText('Heading', 'Systolic pressure'),
  code: nullable(codingField('the measured quantity', LOINC_URI, '8480-6')),
  unit: unitCodeField,
  unitLabel: unitLabelField,
  axis: chartText('Id of the axis on which the line is drawn', 'pressure'),
  kind: chartText('Style of the line', 'line'),
  total: Type.Integer({ description: 'Total number of points', examples: [100000] }),
  returned: Type.Integer({ description: 'Number of returned points', examples: [300] }),
  sampling: chartObject('Sampling of the returned points', {
    algorithm: chartText(
      'Algorithm. `lttb`: Largest Triangle Three Buckets, which keeps the lowest and the highest point; `none`: all points',
      'lttb',
    ),
    points: Type.Integer({ description: 'Number of returned points', examples: [300] }),
  }),
  stats: nullable(Stats),
  points: Type.Array(Point('Point of the line'), { description: 'Points in chronological order' }),
  bands: Type.Array(
    chartObject('A band: a named range of values', {
      code: chartText('Code of the band', 'grade1'),
      label: chartText('Name of the band', 'Hypertension grade 1'),
      from: nullable(chartNumber('Lower bound; null if there is none', 140)),
      to: nullable(chartNumber('Upper bound; null if there is none', 160)),
      severity: chartNumber('Severity within its thresholds: higher is worse', 3),
      level: BandLevelEnum,
    }),
    {
      description:
        'Bands in ascending order: those of the plan’s thresholds, otherwise the default ones. A value that is only known to be plausible has no band',
    },
  ),
})

export const MedGraph = closedObject(
  'MedGraph',
  'Measured values as lines that chart libraries can draw directly',
  {
    ehrId: chartEhrIdField,
    ...requestedPeriodFields,
    axes: Type.Array(Axis, { description: 'Axes' }),
    series: Type.Array(GraphSeries, { description: 'Lines of the graph' }),
    annotations: Type.Array(
      chartObject('An alert, an event or a diagnosis', {
        x: chartNumber('Start time, in milliseconds since 1970 (UTC)', 1772353800000),
        xEnd: nullable(
          chartNumber('End time, in milliseconds since 1970 (UTC); null for a moment', 1772357400000),
        ),
        kind: chartText('Kind of the annotation: alert, event or diagnosis', 'alert'),
        label: chartText('Text of the annotation', 'Blood pressure 185/112 mmHg: Hypertension grade 3'),
        href: recordLinkField('Path of the record'),
      }),
      { description: 'The newest 200 annotations of the period, in chronological order' },
    ),
    links: chartLinksField,
  },
)
