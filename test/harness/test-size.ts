const TEST_SIZE = process.env.TEST_SIZE

/** Whether expensive tests do all of their work; docs/testing.md lists them. */
export const isFullSize = TEST_SIZE === 'full' || TEST_SIZE === 'most'

/** The number of repetitions at each size; `most` is for runs by hand, since it takes many minutes. */
export const bySize = (usual: number, full: number, most = full): number =>
  TEST_SIZE === 'most' ? most : isFullSize ? full : usual
