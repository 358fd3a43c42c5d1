import type { ReactElement, ReactNode } from 'react'

interface TableProps {
  /** The heading of each column. */
  heads: readonly string[]
  caption?: ReactElement
  /** The rows. */
  children: ReactNode
}

/** A table that scrolls by itself where it does not fit. */
export const Table = ({ heads, caption, children }: TableProps) => (
  <div className="scroll">
    <table>
      {caption}
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)
