/** Parse Server's own modules have no types; what we use of them is typed where it is used. */
declare module 'parse-server/lib/*'
