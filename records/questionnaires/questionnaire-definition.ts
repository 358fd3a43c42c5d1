import type { QuestionnaireDefinition, TextPack } from '../../schemas/questionnaires/questionnaire.ts'
import { INSTRUMENTS } from './instruments.ts'

/** Everything that a program needs to show a questionnaire and to send its answers. */
export function questionnaireDefinitionOf(pack: TextPack): QuestionnaireDefinition {
  const { instrument, version, language, title, instruction = null, scale, notRequired } = pack
  const { recallPeriod, required, sends = [] } = INSTRUMENTS[instrument]
  const id = instrument.toLowerCase()
  return {
    id,
    version,
    instrument,
    language,
    title,
    instruction,
    scale,
    textPack: { id: pack.id, licensed: pack.licensed, notice: pack.notice },
    recallPeriod: { duration: recallPeriod, label: pack.recallPeriod },
    notRequired: notRequired === undefined ? null : { value: 'NR', label: notRequired },
    pages: pack.pages.map(({ title, items }, i) => ({
      id: `page-${i + 1}`,
      title,
      items: items.map((item) => ({
        number: item.number,
        code: `${id}-${item.number}`,
        label: item.label,
        required: required.includes(item.number),
        allowNotRequired: item.notRequired ?? false,
        scale: item.scale ?? null,
      })),
    })),
    submit: {
      method: 'POST',
      hrefTemplate: `/ehr/{ehrId}/procedure/${id}`,
      contentType: 'application/json',
      body: Object.fromEntries(
        ['carePlanId', 'timestamp', ...sends, 'answers'].map((name) => [name, `{${name}}`]),
      ),
    },
  }
}
