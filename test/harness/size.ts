const size = process.env.TEST_SIZE

/** Whether everything is tried; docs/testing.md lists what is expensive, and how much of it is done otherwise. */
export const isFullSize = size === 'full' || size === 'most'

/** How often something expensive is done; `most` is for by hand: it takes many minutes. */
export const sized = (usual: number, full: number, most = full): number =>
  size === 'most' ? most : isFullSize ? full : usual
