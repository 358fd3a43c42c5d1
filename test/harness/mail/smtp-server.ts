import { SMTPServer } from 'smtp-server'

/** The answer of the server: it accepts the mail, or refuses it with a code. */
type SmtpAnswer = 'accept' | number
export type AnswerMail = (mail: string) => SmtpAnswer | Promise<SmtpAnswer>

/** A mail server with a configurable answer to each mail; accepted mails are in `received`. */
export async function startSmtpServer(answer: AnswerMail = () => 'accept', port = 0) {
  const received: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, callback) {
      let text = ''
      stream.on('data', (chunk) => {
        text += chunk
      })
      stream.on('end', async () => {
        const reply = await answer(text)
        if (typeof reply === 'number')
          return callback(Object.assign(new Error('refused'), { responseCode: reply }))
        received.push(text)
        return callback()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.server.address() as { port: number }
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    received,
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}
