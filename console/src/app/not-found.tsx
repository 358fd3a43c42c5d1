import { useText } from '../texts/translate.ts'
import { Heading } from '../ui/heading.tsx'
import { Link } from './router.tsx'

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
