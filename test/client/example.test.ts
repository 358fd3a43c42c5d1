import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { createPerson } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'

describe('the program of the README', () => {
  it('is the compiled example', () => {
    const [, program] = /^```ts\n([\s\S]*?)^```/m.exec(readFileSync('README.md', 'utf8')) ?? []
    assert.equal(program, readFileSync('docs/examples/blood-pressure.ts', 'utf8'))
  })

  it('stores a blood pressure, and says what is wrong with another one', async () => {
    const { email, password } = await createPerson()
    const env = { ...process.env, SERVICE: service.url, EMAIL: email, PASSWORD: password }
    const { stdout } = await promisify(execFile)(process.execPath, ['dist/docs/examples/blood-pressure.js'], {
      env,
    })
    const [violation, stored, ...others] = stdout.trim().split('\n')
    assert.match(violation ?? '', /^body\.systolic: systolic must be from 40 to 300/)
    assert.equal(stored, '128/82: normal')
    assert.deepEqual(others, [])
  })
})
