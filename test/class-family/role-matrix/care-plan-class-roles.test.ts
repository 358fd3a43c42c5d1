import { classRoleMatrix } from './class-matrix.ts'

classRoleMatrix('care plans')
