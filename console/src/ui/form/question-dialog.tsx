import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

interface QuestionDialogProps {
  title: string
  text: string
  yes: string
  no: string
  isOpen: boolean
  /** Escape counts as no. */
  onAnswer: (isYes: boolean) => void
}

/** Asks a question that has to be answered before anything else. */
export const QuestionDialog = ({ title, text, yes, no, isOpen, onAnswer }: QuestionDialogProps) => (
  <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => open || onAnswer(false)}>
    <Modal>
      <Dialog role="alertdialog" className="dialog">
        <Heading slot="title">{title}</Heading>
        <p>{text}</p>
        <div className="actions">
          <Button className="primary" onPress={() => onAnswer(true)}>
            {yes}
          </Button>
          <Button autoFocus onPress={() => onAnswer(false)}>
            {no}
          </Button>
        </div>
      </Dialog>
    </Modal>
  </ModalOverlay>
)
