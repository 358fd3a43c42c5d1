import { pendingClassRoleMatrix } from './class-matrix.ts'

pendingClassRoleMatrix()
