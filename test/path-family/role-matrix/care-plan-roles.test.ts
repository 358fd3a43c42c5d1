import { roleMatrix } from './matrix.ts'

roleMatrix('care plans')
