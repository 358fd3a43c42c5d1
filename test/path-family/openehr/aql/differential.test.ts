import assert from 'node:assert/strict'
import fc from 'fast-check'
import { checkQuery } from '../../../../openehr/aql/check-query.ts'
import { parseQuery } from '../../../../openehr/aql/language/parse-query.ts'
import { Queries } from '../../../../openehr/aql/queries.ts'
import type { CompositionView } from '../../../../openehr/composition-views/composition-view.ts'
import { createCompositionViews } from '../../../../openehr/composition-views/create-views.ts'
import { toRmObject } from '../../../../openehr/compositions/composition-json.ts'
import { compositionDerivation, searchFieldsOf } from '../../../../openehr/compositions/search-fields.ts'
import { defaultStatus, toStatusResponse } from '../../../../openehr/ehr-status/ehr-status.ts'
import type { RmObject } from '../../../../openehr/rm/canonical-json.ts'
import { Composition } from '../../../../records/compositions/composition-record.ts'
import { statusIdOf } from '../../../../records/compositions/ehr-status-record.ts'
import type { ClassKind } from '../../../../records/ehr-records/kind.ts'
import { BloodPressure } from '../../../../records/measurements/kinds/blood-pressure.ts'
import { Immunisation } from '../../../../records/medications/immunisation.ts'
import { Backfill } from '../../../../records/store/backfill/backfill.ts'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'
import { Store } from '../../../../records/store/store.ts'
import { bySize, isFullSize } from '../../../harness/test-size.ts'
import { createCaller, useTestStore } from '../../../harness/test-store.ts'
import { waitUntil } from '../../../harness/wait.ts'
import { type PlainEhr, plainRows } from './plain.ts'

const NAMES = ['Alpha', 'Beta', 'Gamma']
const ARCHETYPES = ['a.v1', 'b.v1', 'c.v2']
/** The archetype of manually entered measurements. */
const TYPED_IN = 'blood_pressure.v2'
/** The archetype of immunisations. */
const IMMUNISED = 'hrs_immunisation.v1'
const kinds = [BloodPressure, Immunisation] as unknown as ClassKind[]
const [pressures, immunisations] = createCompositionViews(kinds) as [CompositionView, CompositionView]
const views = [pressures, immunisations]
const archetype = (type: string, name: string) => `openEHR-EHR-${type}.${name}`

const text = (value: string): RmObject => ({ _type: 'DV_TEXT', value })
const arbitraryTime = fc.constantFrom(
  '2026-03-01T08:30:00Z',
  '2026-03-01T10:30:00+02:00',
  '2026-03-02',
  '2025-12-31T23:00:00Z',
)
const moment = arbitraryTime.map((value): RmObject => ({ _type: 'DV_DATE_TIME', value }))

const value: fc.Arbitrary<RmObject> = fc.oneof(
  fc.integer({ min: 0, max: 4 }).map((magnitude) => ({ _type: 'DV_QUANTITY', magnitude, units: 'mm[Hg]' })),
  fc.integer({ min: 0, max: 4 }).map((magnitude) => ({ _type: 'DV_COUNT', magnitude })),
  fc.constantFrom(...NAMES).map(text),
  fc.boolean().map((is) => ({ _type: 'DV_BOOLEAN', value: is })),
  moment,
)

const node = (types: string[], more: fc.Arbitrary<object>, ids = ['at1', 'at2']): fc.Arbitrary<RmObject> =>
  fc
    .record({
      _type: fc.constantFrom(...types),
      id: fc.constantFrom(...ids),
      name: fc.constantFrom(...NAMES),
      more,
    })
    .map(({ _type, id, name, more }) => ({ _type, archetype_node_id: id, name: text(name), ...more }))

const few = <T>(of: fc.Arbitrary<T>, most = 2) => fc.array(of, { minLength: 1, maxLength: most })

const element = node(['ELEMENT'], fc.record({ value }, { requiredKeys: [] }))
const cluster = node(
  ['CLUSTER'],
  few(element).map((items) => ({ items })),
)
const tree = node(
  ['ITEM_TREE'],
  few(fc.oneof(element, element, cluster)).map((items) => ({ items })),
  ['at3'],
)
const event = node(['POINT_EVENT', 'INTERVAL_EVENT'], fc.record({ time: moment, data: tree }))
const history = node(
  ['HISTORY'],
  few(event).map((events) => ({ events })),
  ['at4'],
)
const rooted = (type: string, more: fc.Arbitrary<object>): fc.Arbitrary<RmObject> =>
  node(
    [type],
    more,
    ARCHETYPES.map((name) => archetype(type, name)),
  )
const entry = fc.oneof(
  rooted(
    'OBSERVATION',
    history.map((data) => ({ data })),
  ),
  rooted(
    'EVALUATION',
    tree.map((data) => ({ data })),
  ),
)
const section = rooted(
  'SECTION',
  few(entry).map((items) => ({ items })),
)
const composition = rooted(
  'COMPOSITION',
  fc.record({
    content: few(fc.oneof(entry, section)),
    context: moment.map((start_time) => ({ _type: 'EVENT_CONTEXT', start_time })),
  }),
)

const measured = fc
  .record({ at: arbitraryTime, systolicMmHg: fc.nat(4), diastolicMmHg: fc.nat(4) }, { requiredKeys: ['at'] })
  .map(({ at: time, ...values }) => ({ timestamp: new Date(time), ...values }))

const immunised = fc
  .record(
    {
      recorded: arbitraryTime,
      day: arbitraryTime,
      doseNumber: fc.nat(4),
      seriesDoses: fc.nat(4),
      primarySource: fc.boolean(),
    },
    { requiredKeys: ['recorded'] },
  )
  .map(({ recorded, day, ...values }) => ({
    vaccine: 'Beta',
    status: 'completed',
    ...(day && { date: new Date(day) }),
    ...values,
    _created_at: new Date(recorded),
  }))

const CLASSES =
  'COMPOSITION SECTION OBSERVATION EVALUATION ENTRY CONTENT_ITEM EVENT ITEM_TREE ELEMENT CLUSTER ITEM EVENT_CONTEXT DV_QUANTITY EHR_STATUS LOCATABLE'.split(
    ' ',
  )
const PATHS = [
  'name/value',
  'archetype_node_id',
  'uid/value',
  'value',
  'value/magnitude',
  'value/value',
  'time',
  'time/value',
  'items/value/magnitude',
  'items[at1]/value',
  "items[at2, 'Beta']/value/value",
  'data/events/data/items/value',
  'data/events/time/value',
  'data[at3]/items/name/value',
  'context/start_time',
  'context/start_time/value',
  'content/name/value',
  'is_queryable',
  'magnitude',
]
const LITERALS = [
  '0',
  '2',
  '3.0',
  'true',
  "'Alpha'",
  "'Beta'",
  "'2026-03-01T09:30:00+01:00'",
  "'2026-03-01'",
  "'comp-1'",
  "'comp-1::hrs.local::1'",
  'NULL',
]

const ROOTED = ['OBSERVATION', 'EVALUATION', 'SECTION', 'COMPOSITION']
const NODES = ['[at1]', "[at2, 'Beta']", "[name/value = 'Alpha']", "[at1 or name/value != 'Beta']"]

/** A predicate after a class: usually none, otherwise one that its objects may meet. */
const predicateOf = (type: string, pick: number): string => {
  if (pick % 3 > 0) return ''
  const archetypes = ARCHETYPES.map((name) => `[${archetype(type, name)}]`)
  const nodes = NODES
  const predicates = ROOTED.includes(type) ? archetypes : nodes
  return predicates[Math.floor(pick / 3) % predicates.length] as string
}

/** A query without its variables: `$` is replaced by one of the variables in FROM. */
const { contained } = fc.letrec<{ contained: string; joined: string; single: string }>((tie) => ({
  single: fc
    .tuple(
      fc.constantFrom(...CLASSES),
      fc.nat(29),
      fc.option(tie('contained'), { depthSize: 'small' }),
      fc.nat(7),
    )
    .map(
      ([type, which, inner, not]) =>
        `${type} ?${predicateOf(type, which)}${inner ? ` ${not === 0 ? 'NOT ' : ''}CONTAINS ${inner}` : ''}`,
    ),
  joined: fc
    .tuple(fc.constantFrom('AND', 'OR'), fc.array(tie('single'), { minLength: 2, maxLength: 3, size: 'max' }))
    .map(([word, terms]) => `(${terms.join(` ${word} `)})`),
  contained: fc.oneof({ depthSize: 'small', maxDepth: 3 }, tie('single'), tie('single'), tie('joined')),
}))

const operand = fc.constantFrom(...PATHS).map((path) => `$/${path}`)
const literal = fc.constantFrom(...LITERALS)
const { condition } = fc.letrec<{ condition: string; simple: string }>((tie) => ({
  simple: fc.oneof(
    fc
      .tuple(operand, fc.constantFrom('=', '!=', '<', '<=', '>', '>='), fc.oneof(literal, literal, operand))
      .map((parts) => parts.join(' ')),
    fc
      .tuple(operand, fc.constantFrom("'A*'", "'?eta'", "'*'"))
      .map(([path, pattern]) => `${path} LIKE ${pattern}`),
    fc
      .tuple(operand, fc.array(literal, { minLength: 1, maxLength: 3 }))
      .map(([path, list]) => `${path} MATCHES {${list.join(', ')}}`),
    operand.map((path) => `EXISTS ${path}`),
    fc.constantFrom(...PATHS).map((path) => `$/${path} = $/${path}`),
    fc.constantFrom('ehr-1', 'ehr-2', 'ehr-9').map((id) => `%/ehr_id/value = '${id}'`),
  ),
  condition: fc.oneof(
    { depthSize: 'small', maxDepth: 2 },
    tie('simple'),
    tie('simple').map((one) => `NOT ${one}`),
    fc
      .tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition'))
      .map((parts) => `(${parts.join(' ')})`),
  ),
}))

const query = fc
  .record({
    from: contained,
    isEhr: fc.boolean(),
    not: fc.nat(9),
    columns: fc.array(operand, { minLength: 1, maxLength: 3 }),
    where: fc.option(condition, { freq: 1 }),
    picks: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
  })
  .map(({ from, isEhr, not, columns, where, picks }) => {
    let variables = 0
    const numbered = from.replaceAll('?', () => `v${variables++}`)
    const ehr = `EHR e ${not === 0 ? 'NOT ' : ''}CONTAINS ${numbered}`
    const source = isEhr || numbered.startsWith('(') ? ehr : numbered
    let picked = 0
    const filled = (template: string) =>
      template
        .replaceAll('$', () => `v${(picks[picked++ % picks.length] as number) % variables}`)
        .replaceAll('%/ehr_id', source === ehr ? 'e/ehr_id' : 'v0/uid')
    return `SELECT ${filled(columns.join(', '))} FROM ${source}${where === null ? '' : ` WHERE ${filled(where)}`}`
  })

/** Conditions on the facts of compositions: numbers and times at their archetype paths. */
const questions = fc
  .record({
    type: fc.constantFrom('OBSERVATION', 'EVALUATION'),
    name: fc.constantFrom(...ARCHETYPES, TYPED_IN),
    terms: fc.array(
      fc.tuple(
        fc.constantFrom('v1', 'v1', 'v0'),
        fc.nat(5),
        fc.constantFrom('=', '<', '<=', '>', '>=', '!='),
        fc.integer({ min: -1, max: 5 }),
        arbitraryTime,
        fc.boolean(),
      ),
      { minLength: 1, maxLength: 3 },
    ),
    word: fc.constantFrom('AND', 'AND', 'OR'),
    not: fc.nat(5),
  })
  .map(({ type, name, terms, word, not }) => {
    const inside = type === 'OBSERVATION' ? 'data/events/data' : 'data'
    const places =
      name === TYPED_IN
        ? ['items[at0004]', 'items[at0005]', 'items']
        : ['items[at1]', 'items[at2]', 'items', 'items[at1]/items[at2]', "items[at2, 'Beta']"]
    const conditions = terms.map(([variable, place, operator, number, time, turned]) => {
      const [path, value] =
        variable === 'v0'
          ? ['v0/context/start_time/value', `'${time}'`]
          : place < places.length
            ? [`v1/${inside}/${places[place]}/value/magnitude`, String(number)]
            : ['v1/data/events/time/value', `'${time}'`]
      return turned ? `${value} ${operator} ${path}` : `${path} ${operator} ${value}`
    })
    const where = not === 0 ? `NOT (${conditions.join(` ${word} `)})` : conditions.join(` ${word} `)
    return `SELECT v0/uid/value, v1/name/value FROM COMPOSITION v0 CONTAINS ${type} v1[${archetype(type, name)}] WHERE ${where}`
  })

/** Counts of the nodes of an archetype. */
const fromClauses = fc
  .tuple(
    fc.constantFrom('OBSERVATION', 'EVALUATION', 'COMPOSITION', 'SECTION'),
    fc.constantFrom(...ARCHETYPES, TYPED_IN, IMMUNISED),
  )
  .map(([type, name]) => `FROM EHR e CONTAINS ${type} v[${archetype(type, name)}]`)

const insideOf = (type: string) => (type === 'OBSERVATION' ? 'data/events/data' : 'data')

const START = 'v0/context/start_time/value'

/** The paths of values beside the compositions, by which rows are ordered or grouped. */
function storedIn(type: string, name: string): string[] {
  const nodes =
    name === TYPED_IN ? ['at0004', 'at0005'] : name === IMMUNISED ? ['at0007', 'at0008'] : ['at1', 'at2']
  const magnitudes = nodes.map((id) => `v1/${insideOf(type)}/items[${id}]/value/magnitude`)
  const precise =
    type === 'OBSERVATION' ? [`v1/data[at4]/events[at1]/data[at3]/items[at1]/value/magnitude`] : []
  const times = type === 'OBSERVATION' ? ['v1/data/events/time/value', 'v1/data/events[at2]/time/value'] : []
  return [...magnitudes, ...precise, ...times, START]
}

const source = fc
  .record({
    type: fc.constantFrom('OBSERVATION', 'OBSERVATION', 'EVALUATION'),
    name: fc.constantFrom(...ARCHETYPES, TYPED_IN, IMMUNISED),
    ehr: fc.constantFrom('EHR e', 'EHR e', "EHR e[ehr_id/value='ehr-1']"),
  })
  .map(({ type, name, ehr }) => ({
    keys: storedIn(type, name),
    from: `FROM ${ehr} CONTAINS COMPOSITION v0 CONTAINS ${type} v1[${archetype(type, name)}]`,
  }))

/** All compositions, and those that consist of one entry of any archetype. */
const mixed = fc.constantFrom('', ' CONTAINS ENTRY v1', ' CONTAINS EVALUATION v1').map((inside) => ({
  keys: [START],
  from: `FROM EHR e CONTAINS COMPOSITION v0${inside}`,
}))

/** Pages in the order of a value. */
const orders = fc.oneof({ arbitrary: source, weight: 3 }, mixed).chain(({ keys, from }) =>
  fc
    .record({
      key: fc.constantFrom(...keys),
      other: fc.constantFrom(null, ...keys, ...(from.includes('v1') ? ['v1/name/value'] : [])),
      limit: fc.integer({ min: 1, max: 6 }),
      offset: fc.constantFrom(0, 0, 1, 4),
      way: fc.constantFrom('', ' DESC'),
      second: fc.constantFrom('', ', v0/uid/value'),
      where: fc.constantFrom('', '', ' WHERE ? > 0', " WHERE v0/name/value = 'Alpha'", ' WHERE 3 >= ?'),
    })
    .map(({ key, other, limit, offset, way, second, where }) => {
      const columns = ['v0/uid/value', key, ...(other === null ? [] : [other])]
      const isTime = !key.endsWith('magnitude')
      const time = where.replace(' 0', " '2026-03-01'").replace('3 ', "'2026-03-01T09:00:00Z' ")
      return {
        all: `SELECT ${columns.join(', ')} ${from}${(isTime ? time : where).replaceAll('?', key)}`,
        page: ` ORDER BY ${key}${way}${second} LIMIT ${limit} OFFSET ${offset}`,
        limit,
        offset,
        isTime,
        descending: way !== '',
      }
    }),
)

/** Groups of all values at a place. */
const groups = source.chain(({ keys, from }) =>
  fc
    .record({
      key: fc.constantFrom(...keys.filter((path) => path.endsWith('magnitude'))),
      columns: fc.subarray(
        ['AVG(?)', 'SUM(?)', 'MIN(?)', 'MAX(?)', 'COUNT(?)', 'COUNT(*)', 'COUNT(DISTINCT e/ehr_id/value)'],
        { minLength: 1 },
      ),
      byEhr: fc.boolean(),
      where: fc.constantFrom(
        '',
        '',
        ' WHERE ? > 1',
        ' WHERE ? >= 1 AND ? < 4',
        " WHERE e/ehr_id/value = 'ehr-2'",
      ),
    })
    .map(({ key, columns, byEhr, where }) => {
      const filled = (text: string) => text.replaceAll('?', key)
      const fromClause = from.replace("[ehr_id/value='ehr-1']", where.includes('ehr-2') ? '' : '$&')
      const isAbout = /\?/.test(columns.join() + where)
      return {
        columns,
        byEhr,
        q: `SELECT ${[...(byEhr ? ['e/ehr_id/value'] : []), ...columns].map(filled).join(', ')} ${fromClause}${filled(where)}`,
        values: `SELECT e/ehr_id/value, ${isAbout ? key : 'v1/archetype_node_id'} ${fromClause}${filled(where)}`,
      }
    }),
)

/** At full size other compositions each time. */
const SEED = Number(process.env.SEED ?? (isFullSize ? Date.now() % 1_000_000 : 7))

describe(`AQL with and without a query plan, on compositions of seed ${SEED}`, () => {
  const opened = useTestStore()
  let queries: Queries
  const ehrs: PlainEhr[] = []
  before(async () => {
    queries = new Queries(opened.context, views)
    const [collection, indexes] = new Store(opened.context, Composition).indexes()
    await opened.db.collection(collection).createIndexes(indexes)
    for (const { kind } of views) {
      const [collection, indexes] = new Store(opened.context, kind).indexes()
      await opened.db.collection(collection).createIndexes(indexes)
    }
    const compositions = fc.sample(composition, { seed: SEED, numRuns: 12 })
    for (const [i, sample] of compositions.entries()) await add(`ehr-${(i % 4) + 1}`, `comp-${i}`, sample)
    for (const [view, some] of [
      [pressures, fc.sample(measured, { seed: SEED, numRuns: 9 })],
      [immunisations, fc.sample(immunised, { seed: SEED, numRuns: 10 })],
    ] as const)
      for (const [i, fields] of some.entries()) {
        const record = { _id: `${view.kind.name}-${i}`, ehrId: `ehr-${(i % 3) + 1}`, ...meta, ...fields }
        await (i < 5 ? type : commit)(view, record as unknown as ParseDocument)
      }
    await makeEhr('ehr-5')
  })

  const meta = { version: 1, _created_at: new Date(0), _updated_at: new Date(0), _rperm: ['*'], _wperm: [] }

  async function makeEhr(id: string): Promise<PlainEhr> {
    const existingEhr = ehrs.find(({ object }) => (object.ehr_id as RmObject).value === id)
    if (existingEhr) return existingEhr
    await opened.db
      .collection<{ _id: string; subjectId: string }>('Ehr')
      .insertOne({ _id: id, subjectId: id, ...meta })
    const status = toStatusResponse(defaultStatus(id), { id: statusIdOf(id), version: 1, subjectId: id })
    const ehr = { object: { _type: 'EHR', ehr_id: { _type: 'HIER_OBJECT_ID', value: id } }, roots: [status] }
    ehrs.push(ehr)
    return ehr
  }

  async function add(ehrId: string, id: string, object: RmObject): Promise<void> {
    const json = JSON.stringify(object)
    const name = (object.name as RmObject).value
    const document = {
      _id: id,
      ehrId,
      json,
      ...searchFieldsOf(object),
      template: 't',
      templateId: 't',
      name,
      ...meta,
    }
    await opened.db.collection<{ _id: string }>(Composition.collection).insertOne(document)
    ;(await makeEhr(ehrId)).roots.push(toRmObject({ id, version: 1, json }) as RmObject)
  }

  async function type(view: CompositionView, record: ParseDocument): Promise<void> {
    await opened.db.collection<ParseDocument>(view.kind.collection).insertOne(record)
    ;(await makeEhr(String(record.ehrId))).roots.push(view.toComposition(record))
  }

  /** Stores what a view shows as a composition. */
  function commit(view: CompositionView, record: ParseDocument): Promise<void> {
    const { uid: _, ...fields } = view.toComposition(record)
    return add(String(record.ehrId), `committed-${record._id}`, fields as RmObject)
  }

  async function planned(q: string, roles: string[]): Promise<string[] | undefined> {
    const result = queries.run(createCaller('somebody', roles), { q, parameters: {} }, () => false)
    const rows: string[] = []
    for await (const batch of result.rows()) rows.push(...batch.map((cells) => `[${cells.join(',')}]`))
    return result.hasMore() ? undefined : rows
  }

  it('gives the same rows while older compositions have no facts, which a backfill adds', async () => {
    const documents = opened.db.collection(Composition.collection)
    const readAll = () => documents.find().sort({ _id: 1 }).toArray()
    const before = await readAll()
    const bare = { $unset: { facts: '', times: '', start: '' } }
    assert.ok((await documents.updateMany({ _id: { $regex: '[02468]$' } } as object, bare)).modifiedCount > 3)
    const backfill = new Backfill(opened.context, [compositionDerivation])
    await backfill.open(opened.context)
    const formerQueries = queries
    queries = new Queries(opened.context, views, () => !backfill.pendingIn(Composition.collection))
    const same = async (q: string) => {
      const plain = plainRows(checkQuery(parseQuery(q), {}), ehrs).sort()
      assert.deepEqual((await planned(q, ['analyst']))?.sort(), plain)
    }
    await fc.assert(fc.asyncProperty(questions, same), { numRuns: 10, seed: 7 })
    await fc.assert(
      fc.asyncProperty(fromClauses, async (from) => {
        const plain = plainRows(checkQuery(parseQuery(`SELECT v/archetype_node_id ${from}`), {}), ehrs).length
        assert.deepEqual(await planned(`SELECT COUNT(*) ${from}`, ['analyst']), [`[${plain}]`])
      }),
      { numRuns: 4, seed: 7 },
    )
    assert.ok(backfill.pendingIn(Composition.collection))
    const loop = backfill.start(() => {}, assert.ifError)
    await waitUntil(() => backfill.isDone)
    await loop.stop()
    assert.deepEqual(await readAll(), before)
    queries = formerQueries
  })

  it('gives the same rows', async function () {
    this.timeout(bySize(30_000, 1_800_000))
    let nonemptyCount = 0
    const same = async (q: string) => {
      const plain = plainRows(checkQuery(parseQuery(q), {}), ehrs).sort()
      nonemptyCount += plain.length > 0 ? 1 : 0
      for (const roles of [[], ['analyst']]) {
        const rows = await planned(q, roles)
        if (rows) assert.deepEqual(rows.sort(), plain)
      }
      const countQuery = q.replace(/^SELECT .*? FROM/, 'SELECT COUNT(*) FROM')
      const times = plainRows(checkQuery(parseQuery(countQuery), {}), ehrs).length
      assert.deepEqual(await planned(countQuery, []), [`[${times}]`])
    }
    const numRuns = bySize(20, 1_000, 20_000)
    const seeded = isFullSize ? {} : { seed: 7 }
    await fc.assert(fc.asyncProperty(query, same), { numRuns, ...seeded })
    assert.ok(nonemptyCount > numRuns / 20, `${nonemptyCount} queries have found something`)
    nonemptyCount = 0
    await fc.assert(fc.asyncProperty(questions, same), { numRuns, ...seeded })
    assert.ok(nonemptyCount > numRuns / 20, `${nonemptyCount} queries of facts have found something`)
  })

  const sortable = (value: unknown, isTime: boolean): number =>
    isTime ? Date.parse(String(value)) : (value as number)

  it('gives the same pages in the order of a value', async function () {
    this.timeout(bySize(60_000, 1_800_000))
    let rowCount = 0
    const same = async ({
      all,
      page,
      limit,
      offset,
      isTime,
      descending,
    }: typeof orders extends fc.Arbitrary<infer T> ? T : never) => {
      const plain = plainRows(checkQuery(parseQuery(all), {}), ehrs)
      const keys = plain
        .map((row) => JSON.parse(row)[1])
        .map((value) => (value === null ? undefined : sortable(value, isTime)))
        .sort((a, b) => {
          const order =
            a === undefined || b === undefined ? Number(a === undefined) - Number(b === undefined) : a - b
          return descending ? -order : order
        })
      // Array.sort puts undefined last, whatever the comparison says.
      const empty = keys.filter((key) => key === undefined)
      const valued = keys.filter((key) => key !== undefined)
      const inOrder = (descending ? [...empty, ...valued] : [...valued, ...empty]).slice(
        offset,
        offset + limit,
      )
      rowCount += inOrder.length
      for (const roles of [[], ['analyst']]) {
        const rows = await pageOf(`${all}${page}`, roles)
        const pageKeys = rows
          .map((row) => JSON.parse(row)[1])
          .map((value) => (value === null ? undefined : sortable(value, isTime)))
        assert.deepEqual(pageKeys, inOrder, `${all}${page}`)
        const left = [...plain]
        for (const row of rows)
          assert.ok(left.splice(left.indexOf(row), 1)[0] === row, `${row} in ${all}${page}`)
      }
    }
    const times = `v1/data/events/time/value`
    const typedIn = `FROM EHR e CONTAINS COMPOSITION v0 CONTAINS OBSERVATION v1[${archetype('OBSERVATION', TYPED_IN)}]`
    const example = {
      all: `SELECT v0/uid/value, ${times} ${typedIn}`,
      page: ` ORDER BY ${times} LIMIT 2 OFFSET 0`,
      limit: 2,
      offset: 0,
      isTime: true,
      descending: false,
    }
    const doses = `v1/data/items[at0007]/value/magnitude`
    const ofDoses = {
      all: `SELECT v0/uid/value, ${doses} ${typedIn.replace(/OBSERVATION.*/, `EVALUATION v1[${immunisations.archetype}]`)}`,
      page: ` ORDER BY ${doses} LIMIT 3 OFFSET 0`,
      limit: 3,
      offset: 0,
      isTime: false,
      descending: false,
    }
    await fc.assert(fc.asyncProperty(orders, same), {
      examples: [[example], [ofDoses]],
      numRuns: bySize(60, 2_000, 20_000),
      ...(isFullSize ? {} : { seed: 7 }),
    })
    assert.ok(rowCount > 20, `${rowCount} rows`)
  })

  async function pageOf(q: string, roles: string[]): Promise<string[]> {
    const result = queries.run(createCaller('somebody', roles), { q, parameters: {} }, () => false)
    const rows: string[] = []
    for await (const batch of result.rows()) rows.push(...batch.map((cells) => `[${cells.join(',')}]`))
    return rows
  }

  it('gives the same groups', async function () {
    this.timeout(bySize(60_000, 1_800_000))
    let groupCount = 0
    const same = async ({
      q,
      values,
      columns,
      byEhr,
    }: typeof groups extends fc.Arbitrary<infer T> ? T : never) => {
      const rows = plainRows(checkQuery(parseQuery(values), {}), ehrs).map(
        (row) => JSON.parse(row) as [string, unknown],
      )
      const ids = byEhr ? [...new Set(rows.map(([id]) => id))].sort() : ['']
      const plain = ids.map((id) => {
        const ownRows = rows.filter(([ehr]) => !byEhr || ehr === id)
        return JSON.stringify([
          ...(byEhr ? [id] : []),
          ...columns.map((column) => aggregated(column, ownRows)),
        ])
      })
      groupCount += plain.length
      for (const roles of [[], ['analyst']]) assert.deepEqual((await pageOf(q, roles)).sort(), plain, q)
    }
    await fc.assert(fc.asyncProperty(groups, same), {
      numRuns: bySize(60, 2_000, 20_000),
      ...(isFullSize ? {} : { seed: 7 }),
    })
    assert.ok(groupCount > 20, `${groupCount} groups`)
  })

  function aggregated(column: string, rows: [string, unknown][]): number | null {
    const values = rows.flatMap(([, value]) => (typeof value === 'number' ? [value] : []))
    const sum = values.reduce((total, value) => total + value, 0)
    if (column === 'COUNT(*)') return rows.length
    if (column === 'COUNT(?)') return values.length
    if (column.startsWith('COUNT')) return new Set(rows.map(([ehr]) => ehr)).size
    if (values.length === 0) return null
    return (
      { 'AVG(?)': sum / values.length, 'SUM(?)': sum, 'MIN(?)': Math.min(...values) }[column] ??
      Math.max(...values)
    )
  }

  it('gives the same counts', async () => {
    let countSum = 0
    const same = async (from: string) => {
      const plain = plainRows(checkQuery(parseQuery(`SELECT v/archetype_node_id ${from}`), {}), ehrs).length
      countSum += plain
      for (const roles of [[], ['analyst']])
        assert.deepEqual(await planned(`SELECT COUNT(*) ${from}`, roles), [`[${plain}]`])
    }
    await fc.assert(fc.asyncProperty(fromClauses, same), { numRuns: 8, seed: 7 })
    assert.ok(countSum > 0)
  })
})
