import type { ServiceError } from '../../schemas/errors.ts'
import { parameterError } from '../outcome/issue.ts'

export const isTime = (part: unknown): part is number => typeof part === 'number' && Math.abs(part) <= 8.64e15

export const invalidSearchCursor = (): ServiceError =>
  parameterError('_cursor', 'cursor', 'is not valid. Use the link next of the previous page')
