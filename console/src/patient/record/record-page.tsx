import { queryOptions, useQuery } from '@tanstack/react-query'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/session.ts'
import { formatDate } from '../../texts/format.ts'
import { translateName, useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'

interface RecordLine {
  id: string
  name: string
  facts: string[]
}

const present = (facts: readonly (string | null | undefined)[]): string[] =>
  facts.filter((one) => typeof one === 'string')
const word = (code: string | null) => code && translateName(`word.${code}`, code)
const day = (date: string | null) => date && formatDate(date)

const recordQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'record'),
    queryFn: async () => {
      const params = { path: { ehrId }, query: { limit: 200 } }
      const [diagnoses, reactions, devices] = await Promise.all([
        api.GET('/ehr/{ehrId}/diagnosis', { params }),
        api.GET('/ehr/{ehrId}/adversereaction', { params }),
        api.GET('/ehr/{ehrId}/device', { params }),
      ])
      return {
        diagnoses: diagnoses.data.items.map(
          ({ id, name, onset, status, severity, comment }): RecordLine => ({
            ...{ id, name },
            facts: present([word(status), word(severity), day(onset), comment]),
          }),
        ),
        reactions: reactions.data.items.map(
          ({ id, substance, criticality, reactions: seen, comment }): RecordLine => ({
            ...{ id, name: substance },
            facts: present([
              word(criticality),
              ...(seen ?? []).map(({ manifestation }) => manifestation),
              comment,
            ]),
          }),
        ),
        devices: devices.data.items.map(
          ({ id, name, manufacturer, model, serial }): RecordLine => ({
            ...{ id, name },
            facts: present([manufacturer, model, serial]),
          }),
        ),
      }
    },
  })

/** What is known for a long time: diagnoses, allergies and other reactions, devices. */
export default function RecordPage({ me: { ehrId } }: PageProps) {
  const t = useText()
  const record = useQuery(recordQuery(ehrId))
  return (
    <>
      <Heading title={t('record.title')} />
      <Loaded query={record}>
        {({ diagnoses, reactions, devices }) => (
          <>
            <Lines title={t('record.diagnoses')} lines={diagnoses} />
            <Lines title={t('record.reactions')} lines={reactions} />
            <Lines title={t('record.devices')} lines={devices} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Lines({ title, lines }: { title: string; lines: readonly RecordLine[] }) {
  const t = useText()
  return (
    <section>
      <h2>{title}</h2>
      {lines.length === 0 && <p>{t('record.none')}</p>}
      <ul className="rows">
        {lines.map(({ id, name, facts }) => (
          <li key={id}>
            <div className="grow">
              <strong>{name}</strong>
              <p className="help">{facts.join(', ')}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
