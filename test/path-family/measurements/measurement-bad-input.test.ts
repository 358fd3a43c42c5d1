import { badInput } from '../../harness/care/bad-input.ts'

badInput('measurements')
