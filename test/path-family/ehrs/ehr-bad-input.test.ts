import { describeBadInput } from '../../harness/care/bad-input.ts'

describeBadInput('EHRs')
