import { Link } from '../browser/router.tsx'
import { useText } from '../texts/translate.ts'
import { Heading } from '../ui/heading.tsx'

export function NotFound() {
  const t = useText()
  return (
    <>
      <Heading title={t('notFound.title')} />
      <p>
        <Link to="/">{t('home.title')}</Link>
      </p>
    </>
  )
}
