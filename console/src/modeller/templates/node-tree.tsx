import { useText } from '../../texts/translate.ts'
import type { TemplateNode } from './templates-query.ts'

/** Deeper nodes are opened by the reader. */
const OPEN_LEVELS = 3

/** The nodes of a template, each below the one that contains it. */
export function NodeTree({ nodes, level = 1 }: { nodes: readonly TemplateNode[]; level?: number }) {
  return (
    <ul className="tree">
      {nodes.map((node) => (
        <li key={`${node.id} ${node.aqlPath} ${node.rmType}`}>
          {node.children ? (
            <details open={level < OPEN_LEVELS}>
              <summary>
                <NodeName node={node} />
              </summary>
              <NodePath node={node} />
              <NodeTree nodes={node.children} level={level + 1} />
            </details>
          ) : (
            <>
              <NodeName node={node} />
              <NodePath node={node} />
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

function NodeName({ node: { name, rmType, min, max } }: { node: TemplateNode }) {
  const t = useText()
  const often = max === -1 ? t('templates.atLeast', { min }) : t('templates.between', { min, max })
  return (
    <>
      <strong>{name}</strong> {rmType}, {often}
    </>
  )
}

const NodePath = ({ node: { aqlPath } }: { node: TemplateNode }) =>
  aqlPath && <code className="path">{aqlPath}</code>
