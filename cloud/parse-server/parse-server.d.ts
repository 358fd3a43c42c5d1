/** Parse Server's internal modules have no types; each use declares its own. */
declare module 'parse-server/lib/*'
