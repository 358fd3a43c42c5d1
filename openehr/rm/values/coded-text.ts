export const terminologyId = (value: string) => ({ _type: 'TERMINOLOGY_ID', value })

export const codePhrase = (terminology: string, code_string: string) => ({
  _type: 'CODE_PHRASE',
  terminology_id: terminologyId(terminology),
  code_string,
})

export const codedText = (value: string | undefined, code: string, terminology = 'openehr') => ({
  _type: 'DV_CODED_TEXT',
  value,
  defining_code: codePhrase(terminology, code),
})
