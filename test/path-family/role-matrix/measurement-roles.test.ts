import { pendingRoleMatrix, roleMatrix } from './matrix.ts'

roleMatrix('measurements')
pendingRoleMatrix('measurements')
