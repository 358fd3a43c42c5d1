import { classRoleMatrix } from './class-matrix.ts'

classRoleMatrix('measurements')
