/** All expression operators by name. */
import type { ExpressionOperator } from '../expression.ts'
import { accumulatorExpressions } from './accumulator-expressions.ts'
import { arrays } from './arrays.ts'
import { conversions } from './conversions.ts'
import { dates } from './dates/dates.ts'
import { logic } from './logic.ts'
import { loops } from './loops.ts'
import { misc } from './misc.ts'
import { numbers } from './numbers.ts'
import { objects } from './objects.ts'
import { patterns } from './patterns.ts'
import { sets } from './sets.ts'
import { strings } from './strings.ts'

export const operators: Record<string, ExpressionOperator> = {
  ...arrays,
  ...conversions,
  ...dates,
  ...accumulatorExpressions,
  ...logic,
  ...loops,
  ...misc,
  ...numbers,
  ...objects,
  ...patterns,
  ...sets,
  ...strings,
}
