/** Operations of the specification that the table does not hold yet. The list only ever gets shorter. */
export const notBuiltYet: string[] = [
  'GET /chat/{type}/{id}',
  'POST /chat/{type}/{id}',
  'GET /chat/{type}/{id}/{topicId}',
  'POST /chat/{type}/{id}/{topicId}',
]
