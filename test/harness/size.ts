/** Whether everything is tried; docs/testing.md lists what is dear, and how much of it is done otherwise. */
export const isFullSize = process.env.TEST_SIZE === 'full'

/** How often something dear is done. */
export const sized = (usual: number, full: number): number => (isFullSize ? full : usual)
