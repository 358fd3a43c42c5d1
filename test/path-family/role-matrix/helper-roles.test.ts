import { helperRoleMatrix } from './matrix.ts'

for (const group of ['care plans', 'measurements', 'openEHR', 'the rest'] as const) helperRoleMatrix(group)
