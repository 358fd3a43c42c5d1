import { killedWrites } from './killed.ts'

killedWrites('path family')
