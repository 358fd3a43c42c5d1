import { killedWrites } from './killed.ts'

killedWrites('class family')
