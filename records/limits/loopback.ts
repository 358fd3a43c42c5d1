/** Whether an address is one of this machine. */
export const isLoopbackAddress = (address: string): boolean => /^(::ffff:)?127\.|^::1$/.test(address)
