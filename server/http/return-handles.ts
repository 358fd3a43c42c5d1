/** A process that sends a handle back as often as its argument says. See listening-copies.ts. */
process.on('message', (_, handle) => {
  for (let i = 0; i < Number(process.argv[2]); i++) process.send?.('copy', handle as never)
})
