import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { freePort } from '../../../harness/service/port.ts'
import { config } from '../../../harness/service/service.ts'
import { waitUntil } from '../../../harness/wait.ts'
import { directory, fileOf, newPlace, run, runOn, start, startWithoutUrl, totals } from './importing.ts'

describe('npm run import', function () {
  this.timeout(60_000)

  it('reads tables with a BOM, semicolons and decimal commas, reports rejected rows, and stores nothing twice', async () => {
    const place = await newPlace()
    const file = fileOf(
      [
        '\ufefftimestamp;weight;weightUnit;comment',
        '2026-03-01T08:30:00+01:00;72,5;kg;"a; b ""c"""',
        '2026-03-02T08:30:00+01:00;7000;kg;',
        '2026-03-03T08:30:00;71;kg;',
        '2026-03-04T08:30:00Z;71.5;kg;',
        '2026-03-05T08:30:00Z;71',
        '2026-03-06T08:30:00Z;70;kg;"never closed',
        '2026-03-07T08:30:00Z;70;kg;',
        '2026-03-08T08:30:00Z;70;kg;over "two',
        '2026-03-09T08:30:00Z;70;kg;"over',
        'two ""lines"""',
        '2026-03-10T08:30:00Z;0,5;stone;',
      ].join('\r\n'),
    )
    const firstRun = await run(place, file)
    assert.equal(firstRun.code, 1, firstRun.output)
    assert.match(firstRun.output, /Rejected, line 3: weight must be from/)
    assert.match(firstRun.output, /Rejected, line 4: timestamp must be a time with its offset/)
    assert.match(firstRun.output, /Rejected, line 6: has another number of columns/)
    assert.match(firstRun.output, /Rejected, line 7: has a quote that is not closed/)
    assert.match(firstRun.output, /Rejected, line 12: weightUnit must be one of/)
    assert.match(firstRun.output, /Stored: 5, already known: 0, rejected: 5/)
    const { items } = assertStatus(await place.call('GET', 'procedure/bodyweight?order=asc'))
    assert.deepEqual(
      items.map(({ weight, comment }: Record<string, unknown>) => [weight, comment]),
      [
        [72.5, 'a; b "c"'],
        [71.5, null],
        [70, null],
        [70, 'over "two'],
        [70, 'over\ntwo "lines"'],
      ],
    )
    assert.match((await run(place, file)).output, /Stored: 0, already known: 5/)
  })

  it('finds the separator in a header below empty lines', async () => {
    const file = fileOf('\ufeff\r\n\r\ntimestamp;weight;weightUnit\r\n2026-03-01T08:30:00Z;72,5;kg')
    assert.match((await run(await newPlace(), file)).output, /Stored: 1, already known: 0, rejected: 0/)
  })

  it('loses no row to an unterminated one, however large', async () => {
    const place = await newPlace()
    const row = (i: number, comment: string) =>
      `${new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString()},70,kg,${comment}`
    const rows = Array.from({ length: 600 }, (_, i) => row(i, i % 200 === 100 ? '"never' : 'x'.repeat(400)))
    const huge = row(700, 'y'.repeat(500_000))
    const file = fileOf(['timestamp,weight,weightUnit,comment', ...rows, huge, row(701, '')].join('\n'))
    const { output } = await run(place, file)
    assert.match(output, /Stored: 598, already known: 0, rejected: 4/, output)
    for (const line of [102, 302, 502])
      assert.ok(output.includes(`Rejected, line ${line}: has a quote that is not closed`), output)
    assert.match(output, /Rejected, line 602: is longer than 100000 characters/)
  })

  it('stores nothing from a file that is not UTF-8', async () => {
    const place = await newPlace()
    const rows =
      'timestamp,weight,weightUnit,comment\n2026-03-01T08:30:00Z,70,kg,caf\xe9\n2026-03-02T08:30:00Z,70,kg,thee'
    const { code, output } = await run(place, fileOf(Buffer.from(rows, 'latin1'), 'csv'))
    assert.equal(code, 1, output)
    assert.match(output, /Rejected, line 2: has a character that is not valid UTF-8/)
    assert.match(output, /Stored: 1, already known: 0, rejected: 1/)
    for (const [file, message] of [
      [fileOf(Buffer.from(`\ufeff${rows}`, 'utf16le'), 'csv'), /The file is not UTF-8/],
      [fileOf(Buffer.from('[{"a": "caf\xe9"}]', 'latin1'), 'json'), /not valid JSON: it is not UTF-8/],
    ] as const)
      assert.match((await run(place, file)).output, message)
  })

  it('refuses a mapping that would skip every row, with all of its faults', async () => {
    const place = await newPlace()
    const file = fileOf('time,kilos\n2026-03-01T08:30:00Z,70')
    const weight = { kind: 'bodyweight', timestamp: '{time}', weight: '{kilos}', weightUnit: 'kg' }
    const mapped = async (...maps: object[]) => (await run(place, file, '--map', fileOf(maps))).output
    assert.deepEqual(
      (await mapped({ ...weight, when: 'x', wieght: 1, weight: 70 }, { ...weight, kind: 'pulse' }))
        .split('\n')
        .slice(1, -1),
      [
        '  - 0.when must be an object with the required text of a column',
        '  - 0.wieght is not a property of bodyweight',
        '  - 0 must contain the name of a column in braces',
        '  - 1.kind must be one of bloodpressure, bmi, bodytemperature, bodyweight, heartrate, oxygensaturation, ' +
          'bloodglucose, acq, hads, dsmq: pulse is an unknown kind',
      ],
    )
    assert.deepEqual(
      (await mapped({ ...weight, when: { loinc: '1' }, weight: '{Kilos}' }, weight)).split('\n').slice(1, -1),
      ['  - 0.when: the file has no column loinc', '  - 0.weight: the file has no column Kilos'],
    )
    assert.match(await mapped(weight), /Stored: 1, already known: 0, rejected: 0/)
    assert.match((await run(place, file)).output, /The header of the file has no measured property/)
  })

  it('rejects unreadable entries one by one, and stores the entries around them', async () => {
    const place = await newPlace()
    const weight = (day: number, more: object) => ({
      header: { schema_id: { name: 'body-weight' } },
      body: {
        body_weight: { value: 70, unit: 'kg' },
        effective_time_frame: { date_time: `2026-03-0${day}T08:30:00Z` },
        ...more,
      },
    })
    const deep = JSON.parse(`${'['.repeat(40)}70${']'.repeat(40)}`)
    const points = [
      weight(1, {}),
      weight(2, { body_weight: { value: deep, unit: 'kg' } }),
      weight(3, { body_weight: { value: 70, unit: '\ud800' } }),
      weight(4, {}),
      weight(5, { body_weight: { value: 70, unit: 'x'.repeat(600_000) } }),
      weight(6, { body_weight: { value: 70, unit: 'x'.repeat(600_000) } }),
    ]
    const { code, output } = await run(place, fileOf(points))
    assert.equal(code, 1, output)
    assert.match(output, /Rejected, entry 2: The body must not be nested deeper/)
    assert.match(
      output,
      /Rejected, entry 3: .* must be a finite number, or a text of valid Unicode without NUL/,
    )
    assert.match(output, /Stored: 2, already known: 0, rejected: 4/)
    const allergy = (substance: string) => ({
      resource: { resourceType: 'AllergyIntolerance', code: { text: substance } },
    })
    const bundle = { resourceType: 'Bundle', entry: [allergy('\ud800'), allergy('Latex')] }
    assert.match(
      (await run(place, fileOf(`\ufeff${JSON.stringify(bundle)}`, 'json'))).output,
      /Rejected, entry 1: .*\n.*Stored: 1, already known: 0, rejected: 1/s,
    )
  })

  it('prints rejected rows on lines of their own on a terminal with progress', async () => {
    const rows = Array.from(
      { length: 600 },
      (_, i) => `2026-01-01T00:00:00.${i + 100}Z,${i % 251 ? 60 : 0},/min`,
    )
    const file = fileOf(['timestamp,heartRate,heartRateUnit', ...rows].join('\n'))
    const { output } = await runOn(true, await newPlace(), file)
    assert.equal(output.match(/Rejected, line \d+: heartRate must/g)?.length, 3, output)
    assert.equal(output.match(/ entries\/s, \d+ s left/g)?.length, 3, output)
    assert.doesNotMatch(output, /leftRefused/)
  })

  it('resumes where it was killed, stores nothing twice, and reports totals in the end', async () => {
    const place = await newPlace()
    const rates = Array.from({ length: 1500 }, (_, i) =>
      [
        new Date(Date.parse('2026-01-01T00:00:00Z') + i * 60_000).toISOString(),
        i === 7 ? 7000 : 40 + (i % 100),
        '/min',
      ].join(),
    )
    const file = fileOf(['timestamp,heartRate,heartRateUnit', ...rates].join('\n'))
    const child = start(place, file)
    await waitUntil(() => existsSync(`${file}.import-state`))
    child.kill('SIGKILL')
    await once(child, 'close')
    const resumed = start(place, file)
    const [output] = await Promise.all([text(resumed.stdout), once(resumed, 'close')])
    assert.match(output, /Continuing after entry \d+/)
    assert.equal(resumed.exitCode, 1, output)
    const [, stored, known, rejected] =
      /Stored: (\d+), already known: (\d+), rejected: (\d+)/.exec(output) ?? []
    assert.deepEqual([Number(stored) + Number(known), rejected], [1499, '1'])
    assert.deepEqual(await totals(place, 'heartrate'), { heartrate: 1499 })
  })

  it('stores a file from a place where it cannot keep its state', async () => {
    const place = await newPlace()
    const file = openSync(fileOf('timestamp,heartRate,heartRateUnit\n2026-01-01T00:00:00Z,60,/min'), 'r')
    const { code, output } = await run(place, `/dev/fd/${file}`)
    closeSync(file)
    assert.equal(code, 0, output)
    assert.match(
      output,
      /If interrupted, the import starts over and stores nothing twice, because its position cannot be saved: .*import-state/,
    )
    assert.match(output, /Stored: 1, already known: 0, rejected: 0/)
  })

  it('reports that the service rejects the whole import', async () => {
    const place = await newPlace()
    const file = fileOf('timestamp,heartRate,heartRateUnit\n2026-01-01T00:00:00Z,60,/min')
    const away = await run({ ...place, carePlanId: 'doesNotExist' }, file)
    assert.equal(away.code, 2, away.output)
    assert.match(away.output, /rejected the import: The resource does not exist/)
    assert.match((await run(place, file)).output, /Stored: 1, already known: 0, rejected: 0/)
  })

  it('reports a wait that the service asks for, and an address where another service answers', async () => {
    const answers = [429, 401, 200]
    const busy = createServer((_, response) =>
      response.writeHead(answers.shift() ?? 500, { 'retry-after': '0' }).end(),
    )
    await once(busy.listen(0, '127.0.0.1'), 'listening')
    const { port } = busy.address() as AddressInfo
    const place = await newPlace()
    const file = fileOf('a,b\n1,2')
    const outputOf = async () => (await run(place, file, '--url', `http://127.0.0.1:${port}`)).output
    assert.match(
      await outputOf(),
      /responds with the status 429; next attempt in 1 s.*The login failed: 401/s,
    )
    assert.match(await outputOf(), /The server at http:\S+ is not a Health Record Service/)
    busy.close()
  })

  it('finds the service that runs on DATA_DIR, and otherwise says where it looked', async () => {
    const place = await newPlace()
    const file = fileOf('timestamp,weight,weightUnit\n2026-01-01T00:00:00Z,70,kg')
    const importing = startWithoutUrl(place, file, { DATA_DIR: config.dataDir })
    assert.match(await text(importing.stdout), /Stored: 1/)
    const DATA_DIR = join(directory, 'elsewhere')
    mkdirSync(DATA_DIR)
    writeFileSync(join(DATA_DIR, 'service.json'), '{"url":5}')
    const PORT = String(await freePort())
    const lost = startWithoutUrl(place, file, { DATA_DIR, HOST: '0.0.0.0', PORT })
    const [message] = await once(lost.stderr, 'data')
    lost.kill()
    assert.equal(
      String(message).trim(),
      `http://127.0.0.1:${PORT} (from HOST and PORT, because ${DATA_DIR}/service.json does not exist or cannot be read) cannot be reached ` +
        '(ECONNREFUSED); next attempt in 1 s. Another URL: --url',
    )
  })

  it('takes a bundle without entries for an empty one', async () => {
    const { code, output } = await run(
      await newPlace(),
      fileOf({ resourceType: 'Bundle', type: 'searchset', total: 0 }),
    )
    assert.equal(code, 0, output)
    assert.match(output, /Stored: 0, already known: 0, rejected: 0/)
  })

  it('explains a wrong command line', async () => {
    const place = await newPlace()
    for (const [file, more, message] of [
      [join(directory, 'nowhere.csv'), [], /nowhere\.csv does not exist/],
      [directory, [], /--file must be a file: .* is a directory/],
      ['/dev/null', [], /--file must be a file: .* is a pipe or device/],
      [fileOf('{"', 'json'), [], /not valid JSON/],
      [fileOf('[{"a":[{"b":1,"b":2}]}]', 'json'), [], /not valid JSON: several values of 0\.a\.0\.b/],
      [
        fileOf('a,b\n1,2'),
        ['--map', fileOf('[{"kind":"a","kind":"b"}]', 'json')],
        /several values of 0\.kind/,
      ],
      [fileOf({ a: 1 }), [], /neither/],
      [fileOf('a,b,a\n1,2,3'), [], /has the column a twice/],
      [fileOf('a,b\n1,2'), ['--map', fileOf([{ kind: 'pulse' }])], /an unknown kind/],
      [fileOf('a,b\n1,2'), ['--url', 'ftp://x'], /--url/],
    ] as const) {
      const { code, output } = await run(place, file, ...more)
      assert.equal(code, 2, output)
      assert.match(output, message)
    }
    const wrong = await run({ ...place, password: 'wrong' }, fileOf('a,b\n1,2'))
    assert.match(wrong.output, /The login failed/)
    const silent = start({ ...place, password: '' }, fileOf('a,b\n1,2'))
    silent.stdin.end()
    const [[code], [message]] = await Promise.all([once(silent, 'close'), once(silent.stderr, 'data')])
    assert.equal(code, 2)
    assert.match(String(message), /a password is required\. Set IMPORT_PASSWORD/)
  })
})
