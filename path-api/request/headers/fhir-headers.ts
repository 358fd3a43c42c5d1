import type { Request } from 'express'
import type { FhirPreferences } from '../../operation/context.ts'

const preferenceIn = (text: string, name: string): string | undefined =>
  new RegExp(`(?:^|[;,])\\s*${name}\\s*=\\s*"?([A-Za-z-]+)`).exec(text)?.[1]

/** Reads `Prefer` and `If-None-Exist`; unknown preferences are ignored. */
export function parseFhirPreferences({ headers }: Request): FhirPreferences {
  const prefer = [headers.prefer].flat().join(',')
  const handling = preferenceIn(prefer, 'handling')
  const returnPreference = preferenceIn(prefer, 'return')
  const ifNoneExist = headers['if-none-exist']
  return {
    handling: handling === 'strict' || handling === 'lenient' ? handling : undefined,
    return:
      returnPreference === 'minimal' ||
      returnPreference === 'representation' ||
      returnPreference === 'OperationOutcome'
        ? returnPreference
        : undefined,
    respondAsync: /(?:^|[;,])\s*respond-async\s*(?:[;,]|$)/.test(prefer),
    ifNoneExist: typeof ifNoneExist === 'string' ? ifNoneExist : undefined,
  }
}
