import assert from 'node:assert/strict'
import { TemplateStore } from '../../openehr/templates/template-store.ts'
import { createTemplateXml } from '../harness/openehr-samples.ts'
import { createCaller, useTestStore } from '../harness/test-store.ts'

const TEMPLATE_ID = 'hrs.tests.v1'
const modeller = createCaller('modeller', ['modeller'])

describe('a built-in template', () => {
  const store = useTestStore()
  /** The templates at a start of the service that brings this one. */
  async function start(templateId: string, xml: string): Promise<TemplateStore> {
    const templates = new TemplateStore(store.context)
    await templates.addBuiltIn(new Map([[templateId, xml]]))
    return templates
  }

  it('replaces the one that an earlier version of the service stored, and only once', async () => {
    const [former, now] = ['Former', 'Latest'].map((concept) => createTemplateXml(TEMPLATE_ID, concept))
    await start(TEMPLATE_ID, former as string)
    const starts = [start(TEMPLATE_ID, now as string), start(TEMPLATE_ID, now as string)]
    const [templates] = (await Promise.all(starts)) as [TemplateStore, TemplateStore]
    const { head, bytes } = await templates.file(modeller, TEMPLATE_ID)
    assert.deepEqual([bytes.toString(), head.concept], [now, 'Latest'])
    assert.equal((await templates.get(modeller, TEMPLATE_ID)).template.concept, 'Latest')
    await start(TEMPLATE_ID, now as string)
    assert.equal((await templates.file(modeller, TEMPLATE_ID)).head.version, head.version)
  })

  it('leaves a template of the same id alone that a modeller stored', async () => {
    const ownTemplate = createTemplateXml('HRS.theirs.v1', 'Theirs')
    await new TemplateStore(store.context).add(modeller, Buffer.from(ownTemplate), 'modeller01')
    const templates = await start('hrs.theirs.v1', createTemplateXml('hrs.theirs.v1', 'Ours'))
    assert.equal((await templates.file(modeller, 'hrs.theirs.v1')).bytes.toString(), ownTemplate)
  })
})
