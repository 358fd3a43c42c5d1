import { translate } from '../texts/translate.ts'

/** Stands in for content that is on its way. */
export const Skeleton = ({ lines = 3 }: { lines?: number }) => (
  <div className="skeleton" role="status">
    <span className="unseen">{translate('loading')}</span>
    {Array.from({ length: lines }, (_, i) => `line-${i}`).map((key) => (
      <div key={key} className="skeleton-line" />
    ))}
  </div>
)
