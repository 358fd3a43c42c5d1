import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ok } from '../../harness/clients/path-client.ts'
import { until } from '../../harness/until.ts'
import { directory, fileOf, newPlace, run, start, totals } from './importing.ts'

describe('npm run import', function () {
  this.timeout(60_000)

  it('reads tables with a BOM, semicolons and decimal commas, tells what it refuses, and stores nothing twice', async () => {
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
    const first = await run(place, file)
    assert.equal(first.code, 1, first.said)
    assert.match(first.said, /Refused, line 3: weight must lie between/)
    assert.match(first.said, /Refused, line 4: timestamp must be a time with its offset/)
    assert.match(first.said, /Refused, line 6: has not as many columns/)
    assert.match(first.said, /Refused, line 7: has a quote that is never closed/)
    assert.match(first.said, /Refused, line 12: weightUnit must be one of/)
    assert.match(first.said, /Stored: 5, known: 0, refused: 5/)
    const { items } = ok(await place.call('GET', 'procedure/bodyweight?order=asc'))
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
    assert.match((await run(place, file)).said, /Stored: 0, known: 5/)
  })

  it('loses no row to one that never ends, however large', async () => {
    const place = await newPlace()
    const row = (i: number, comment: string) =>
      `${new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString()},70,kg,${comment}`
    const rows = Array.from({ length: 600 }, (_, i) => row(i, i % 200 === 100 ? '"never' : 'x'.repeat(400)))
    const huge = row(700, 'y'.repeat(500_000))
    const file = fileOf(['timestamp,weight,weightUnit,comment', ...rows, huge, row(701, '')].join('\n'))
    const { said } = await run(place, file)
    assert.match(said, /Stored: 598, known: 0, refused: 4/, said)
    for (const line of [102, 302, 502])
      assert.ok(said.includes(`Refused, line ${line}: has a quote that is never closed`), said)
    assert.match(said, /Refused, line 602: is longer than 100000 characters/)
  })

  it('goes on where it was killed, stores nothing twice, and tells of the whole in the end', async () => {
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
    await until(() => existsSync(`${file}.import-state`))
    child.kill('SIGKILL')
    await once(child, 'close')
    const again = start(place, file)
    const [said] = await Promise.all([text(again.stdout), once(again, 'close')])
    assert.match(said, /Continues after entry \d+/)
    assert.equal(again.exitCode, 1, said)
    const [, stored, known, refused] = /Stored: (\d+), known: (\d+), refused: (\d+)/.exec(said) ?? []
    assert.deepEqual([Number(stored) + Number(known), refused], [1499, '1'])
    assert.deepEqual(await totals(place, 'heartrate'), { heartrate: 1499 })
  })

  it('tells when the service refuses it as a whole', async () => {
    const place = await newPlace()
    const file = fileOf('timestamp,heartRate,heartRateUnit\n2026-01-01T00:00:00Z,60,/min')
    const away = await run({ ...place, carePlanId: 'doesNotExist' }, file)
    assert.equal(away.code, 2, away.said)
    assert.match(away.said, /refuses the import: Not found/)
    assert.match((await run(place, file)).said, /Stored: 1, known: 0, refused: 0/)
  })

  it('says that it waits when the service asks for it', async () => {
    const answers = [429, 401]
    const busy = createServer((_, response) =>
      response.writeHead(answers.shift() ?? 500, { 'retry-after': '0' }).end(),
    )
    await once(busy.listen(0, '127.0.0.1'), 'listening')
    const { port } = busy.address() as AddressInfo
    const { said } = await run(await newPlace(), fileOf('a,b\n1,2'), '--url', `http://127.0.0.1:${port}`)
    assert.match(said, /answers 429: trying again in 1 s.*The login was refused: 401/s)
    busy.close()
  })

  it('says what is wrong with how it is called', async () => {
    const place = await newPlace()
    for (const [file, more, told] of [
      [join(directory, 'nowhere.csv'), [], /ENOENT/],
      [fileOf('{"', 'json'), [], /not valid JSON/],
      [fileOf({ a: 1 }), [], /neither/],
      [fileOf('a,b\n1,2'), ['--map', fileOf([{ kind: 'pulse' }])], /an unknown kind/],
      [fileOf('a,b\n1,2'), ['--url', 'ftp://x'], /--url/],
    ] as const) {
      const { code, said } = await run(place, file, ...more)
      assert.equal(code, 2, said)
      assert.match(said, told)
    }
    const wrong = await run({ ...place, password: 'wrong' }, fileOf('a,b\n1,2'))
    assert.match(wrong.said, /login was refused/)
  })
})
