import { Component, type ReactNode } from 'react'
import { type TextId, translate } from '../texts/translate.ts'

/** A new version of the console replaces its files, so an open page may not find a part of the old one. */
const isMissingPart = (error: unknown): boolean =>
  error instanceof Error && /dynamically imported module|module script failed|preload/i.test(error.message)

function textsOf(error: unknown): { title: TextId; help: TextId } {
  if (!isMissingPart(error)) return { title: 'failure.title', help: 'failure.help' }
  return navigator.onLine
    ? { title: 'newVersion.title', help: 'newVersion.help' }
    : { title: 'failure.title', help: 'problem.network-error' }
}

interface Failure {
  error?: unknown
}

/** Shows a failure in place of a blank page; what was typed is in the drafts. */
export class FailureBoundary extends Component<{ children: ReactNode }, Failure> {
  override state: Failure = {}

  static getDerivedStateFromError(error: unknown): Failure {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const { title, help } = textsOf(error)
    return (
      <main className="narrow">
        <h1>{translate(title)}</h1>
        <p role="alert">{translate(help)}</p>
        <button type="button" className="primary" onClick={() => location.reload()}>
          {translate('reload')}
        </button>
      </main>
    )
  }
}
