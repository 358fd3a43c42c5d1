/**
 * The processor time in milliseconds that this process spends on some work, regardless of other processes.
 */
export async function measureProcessorTime(work: () => PromiseLike<unknown>): Promise<number> {
  const startUsage = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(startUsage)
  return (user + system) / 1000
}
