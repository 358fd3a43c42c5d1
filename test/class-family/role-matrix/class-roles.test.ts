import { classRoleMatrix } from './class-matrix.ts'

classRoleMatrix('the rest')
