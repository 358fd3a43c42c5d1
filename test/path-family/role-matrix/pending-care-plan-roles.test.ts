import { pendingRoleMatrix } from './matrix.ts'

pendingRoleMatrix('care plans')
