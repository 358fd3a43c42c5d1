/** The milliseconds of processor time that this process takes for some work; what runs beside it does not count. */
export async function processorTimeOf(work: () => PromiseLike<unknown>): Promise<number> {
  const begun = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1000
}
