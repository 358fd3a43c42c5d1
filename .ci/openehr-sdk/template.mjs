/** Prints the template of the check: with one event, and with the description and the terms that the SDK expects. */
import { createTemplateXml } from '../../dist/test/harness/openehr-samples.js'

const language =
  '<language><terminology_id><value>ISO_639-1</value></terminology_id><code_string>en</code_string></language>'
const description =
  '<description><original_author id="name">Anna de Vries</original_author><lifecycle_state>draft</lifecycle_state>' +
  `<details>${language}<purpose>Tests</purpose></details></description><uid><value>1</value></uid>`
const term = (code, text) =>
  `<term_definitions code="${code}"><items id="text">${text}</items><items id="description">*</items></term_definitions>`

const template = createTemplateXml('Pressure SDK')
  .replace('<template_id>', `${description}<template_id>`)
  .replace('<term_definitions code="at0004">', `${term('at0001', 'History')}${term('at0003', 'Data')}$&`)
const one =
  '<occurrences><lower_included>true</lower_included><upper_included>true</upper_included><lower_unbounded>false' +
  '</lower_unbounded><upper_unbounded>false</upper_unbounded><lower>1</lower><upper>1</upper></occurrences>'
const single = template.replace(
  /<rm_type_name>EVENT<.*?<\/occurrences>/s,
  `<rm_type_name>POINT_EVENT</rm_type_name>${one}`,
)
process.stdout.write(single, () => process.exit())
