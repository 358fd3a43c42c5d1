import { pendingRoleMatrix, roleMatrix } from '../matrix.ts'

roleMatrix('openEHR')
pendingRoleMatrix('openEHR')
