/** Operations of the specification that the table does not hold yet. The list only ever gets shorter. */
export const notBuiltYet: string[] = [
  'GET /data/{mvUid}/event/{eventId}',
  'POST /data/{mvUid}/event/{eventId}',
  'GET /data/{mvUid}/measurement',
  'POST /data/{mvUid}/measurement',
  'GET /chat/{type}/{id}',
  'POST /chat/{type}/{id}',
  'GET /chat/{type}/{id}/{topicId}',
  'POST /chat/{type}/{id}/{topicId}',
]
