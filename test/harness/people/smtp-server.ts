import { SMTPServer } from 'smtp-server'

/** A mail server with a configurable answer; accepted mails are in `received`. */
export async function startSmtpServer(refuse: () => boolean = () => false, port = 0) {
  const received: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      let text = ''
      stream.on('data', (chunk) => {
        text += chunk
      })
      stream.on('end', () => {
        if (refuse()) return done(Object.assign(new Error('try again'), { responseCode: 451 }))
        received.push(text)
        return done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.server.address() as { port: number }
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    received,
    close: () => new Promise<void>((done) => server.close(done)),
  }
}
