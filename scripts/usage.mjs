/** Prints how a script is called, and ends it, if --help is among its arguments. */
export function answerHelp(usage) {
  if (!process.argv.includes('--help')) return
  process.stdout.write(usage)
  process.exit(0)
}
