/**
 * Shows the Diabetes Self-Management Questionnaire on a page and stores the answers. It is a single script.
 * It works under `script-src 'self'`, builds no markup from texts and loads its texts from the service.
 *
 *     <div data-dsmq data-ehr-id="…" data-care-plan-id="…"></div>
 *     window.Dsmq.render(element, { ehrId, carePlanId, headers: { authorization: 'Bearer …' } })
 */

interface DsmqOption {
  value: number | 'NR'
  label: string
}

interface DsmqItem {
  number: number
  label: string
  required: boolean
  allowNotRequired: boolean
  scale?: DsmqOption[] | null
}

/** The parts of `dsmq.wizard.json` that are shown. */
interface DsmqDefinition {
  language: string
  title: string
  textPack: { notice: string }
  recallPeriod: { label: string }
  instruction: string | null
  scale: DsmqOption[]
  notRequired: DsmqOption | null
  pages: { title: string; items: DsmqItem[] }[]
  submit: { method: string; hrefTemplate: string; contentType: string }
}

interface DsmqOptions {
  ehrId: string
  carePlanId: string
  /** URL of the service; default: that of the script. */
  baseUrl?: string | undefined
  /** Two letters; default: the language of the page. */
  language?: string | undefined
  /** Replaces the definition of the service. */
  definition?: DsmqDefinition | undefined
  /** Sent with the requests of the script, such as `authorization`. */
  headers?: Record<string, string> | undefined
  onResult?: ((result: unknown) => void) | undefined
  onError?: ((error: Error) => void) | undefined
}

{
  const words = {
    en: {
      answered: (answered: number, total: number) => `${answered} of ${total} answered`,
      back: 'Back',
      next: 'Next',
      send: 'Send',
      anyway: 'Send without these',
      open: 'Not answered yet:',
      sending: 'Sending…',
      stored: 'Your answers have been stored.',
      notLoaded: 'The questionnaire could not be loaded.',
      notAllowed:
        'Your answers were not stored: you are not logged in, or have no permission to store them here.',
      notAccepted:
        'Your answers were not stored: the service did not accept them. Trying again does not help.',
      notStored: 'Your answers were not stored. Please try again.',
    },
    nl: {
      answered: (answered: number, total: number) => `${answered} van ${total} beantwoord`,
      back: 'Terug',
      next: 'Verder',
      send: 'Versturen',
      anyway: 'Versturen zonder deze',
      open: 'Nog niet beantwoord:',
      sending: 'Bezig met versturen…',
      stored: 'Uw antwoorden zijn opgeslagen.',
      notLoaded: 'De vragenlijst kon niet worden geladen.',
      notAllowed: 'Uw antwoorden zijn niet opgeslagen: u bent niet ingelogd, of mag hier niets opslaan.',
      notAccepted:
        'Uw antwoorden zijn niet opgeslagen: de dienst heeft ze niet geaccepteerd. Opnieuw proberen helpt niet.',
      notStored: 'Uw antwoorden zijn niet opgeslagen. Probeer het nog eens.',
    },
  }
  const wordsIn = (language: string) => (language === 'nl' ? words.nl : words.en)

  /** Uses an adopted style sheet, because the policy of the page may forbid inline styles. */
  const rules = `.dsmq{max-width:40rem;line-height:1.5;overflow-wrap:anywhere}
.dsmq fieldset{min-width:0;margin:0 0 1rem;padding:.5rem .75rem;border:1px solid #767676;border-radius:.3rem}
.dsmq legend{padding:0 .3rem;font-weight:600}
.dsmq fieldset label{display:flex;gap:.6rem;align-items:center;min-height:2.75rem}
.dsmq input{flex:none;width:1.25rem;height:1.25rem;margin:0}
.dsmq progress{display:block;width:100%;height:.75rem}
.dsmq nav{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0}
.dsmq button{font:inherit;min-height:2.75rem;padding:.25rem 1.25rem}
.dsmq [role=alert],.dsmq [role=status]{margin:1rem 0;padding:.75rem;border:2px solid currentColor;border-radius:.3rem}
.dsmq li button{min-height:2rem;vertical-align:top;padding:0;border:0;background:none;color:inherit;text-align:left;text-decoration:underline}
.dsmq :focus-visible{outline:3px solid #0b5cad;outline-offset:2px}
.dsmq small{display:block}`

  const path = '/ehr/procedure/dsmq/'
  const script = (document.currentScript as HTMLScriptElement | null)?.src.split('?')[0] ?? ''
  const home = script.endsWith(`${path}dsmq.js`) ? script.slice(0, -`${path}dsmq.js`.length) : ''
  let forms = 0

  type Properties = Record<string, string | number | boolean>

  /** Creates an element. Strings become text nodes, never markup. */
  function make<K extends keyof HTMLElementTagNameMap>(
    name: K,
    properties: Properties,
    ...children: (Node | string)[]
  ): HTMLElementTagNameMap[K] {
    const element = document.createElement(name)
    for (const [property, value] of Object.entries(properties))
      if (value === true) element.setAttribute(property, '')
      else if (value !== false) element.setAttribute(property, String(value))
    element.append(...children)
    return element
  }

  function button(text: string, act: () => void, type: 'button' | 'submit' = 'button'): HTMLButtonElement {
    const element = make('button', { type }, text)
    if (type === 'button') element.addEventListener('click', act)
    return element
  }

  class Refused extends Error {
    readonly status: number
    readonly problem: unknown
    constructor(status: number, problem: unknown) {
      super(`The service answered ${status}.`)
      this.name = 'Refused'
      this.status = status
      this.problem = problem
    }
  }

  /**
   * Whether a retry would get the same response. Otherwise the request may have been carried out, or still be
   * running.
   */
  function isFinal(error: unknown): boolean {
    if (!(error instanceof Refused) || error.status >= 500 || [408, 429].includes(error.status)) return false
    return (error.problem as { code?: unknown } | undefined)?.code !== 'idempotency-key-in-use'
  }

  async function answerOf(response: Response): Promise<unknown> {
    const body: unknown = await response.json().catch(() => undefined)
    if (!response.ok) throw new Refused(response.status, body)
    return body
  }

  /** A questionnaire on a page, shown part by part. */
  class Questionnaire {
    readonly #element: HTMLElement
    readonly #options: DsmqOptions
    readonly #definition: DsmqDefinition
    readonly #words: typeof words.en
    readonly #items: DsmqItem[]
    readonly #answers = new Map<number, number | 'NR'>()
    readonly #prefix = `dsmq-${++forms}`
    readonly #pages: HTMLElement[]
    readonly #progress = make('progress', { value: 0 })
    readonly #counted = document.createTextNode('')
    readonly #message = make('div', {})
    readonly #back: HTMLButtonElement
    readonly #next: HTMLButtonElement
    readonly #send: HTMLButtonElement
    #page = 0
    /** The same answers belong to the same attempt, so a retry stores them once. */
    #attempt: { content: string; key: string; timestamp: string } | undefined

    constructor(element: HTMLElement, options: DsmqOptions, definition: DsmqDefinition) {
      this.#element = element
      this.#options = options
      this.#definition = definition
      this.#words = wordsIn(definition.language)
      this.#items = definition.pages.flatMap(({ items }) => items)
      this.#pages = definition.pages.map((page, i) => this.#pageOf(page, i))
      this.#progress.max = this.#items.length
      this.#back = button(this.#words.back, () => this.#turnTo(this.#page - 1))
      this.#next = button(this.#words.next, () => this.#turnTo(this.#page + 1))
      this.#send = button(this.#words.send, () => {}, 'submit')
    }

    show(): void {
      const { title, recallPeriod, instruction, textPack, language } = this.#definition
      const form = make(
        'form',
        { class: 'dsmq', lang: language, novalidate: true },
        make('h2', {}, title),
        make('p', {}, make('strong', {}, recallPeriod.label), ...(instruction ? [` – ${instruction}`] : [])),
        make('label', {}, this.#counted, this.#progress),
        ...this.#pages,
        this.#message,
        make('nav', {}, this.#back, this.#next, this.#send),
        make('small', {}, textPack.notice),
      )
      form.addEventListener('submit', (event) => {
        event.preventDefault()
        if (!this.#send.disabled) this.#check()
      })
      this.#element.replaceChildren(form)
      this.#count()
      this.#show(0)
    }

    #pageOf({ title, items }: DsmqDefinition['pages'][number], at: number): HTMLElement {
      const heading = make('h3', { id: `${this.#prefix}-page-${at}`, tabindex: -1 }, title)
      return make(
        'section',
        { 'aria-labelledby': heading.id },
        heading,
        ...items.map((item) => this.#itemOf(item)),
      )
    }

    #itemOf(item: DsmqItem): HTMLElement {
      const { scale, notRequired } = this.#definition
      const name = `${this.#prefix}-${item.number}`
      const options = [
        ...(item.scale ?? scale),
        ...(item.allowNotRequired && notRequired ? [notRequired] : []),
      ]
      return make(
        'fieldset',
        {},
        make('legend', {}, `${item.number}. ${item.label}`),
        ...options.map(({ value, label }) => {
          const radio = make('input', { type: 'radio', name, value })
          radio.addEventListener('change', () => {
            this.#answers.set(item.number, value)
            this.#count()
          })
          return make('label', {}, radio, make('span', {}, label))
        }),
      )
    }

    #count(): void {
      this.#progress.value = this.#answers.size
      this.#counted.data = this.#words.answered(this.#answers.size, this.#items.length)
    }

    #show(page: number): void {
      this.#page = page
      const last = this.#pages.length - 1
      for (const [i, element] of this.#pages.entries()) element.hidden = i !== page
      this.#back.hidden = page === 0
      this.#next.hidden = page === last
      this.#send.hidden = page !== last
      this.#message.replaceChildren()
    }

    #turnTo(page: number): void {
      this.#show(page)
      this.#pages[page]?.querySelector('h3')?.focus()
    }

    /** Sends complete answers. Otherwise names the missing ones and moves the focus there. */
    #check(): void {
      const open = this.#items.filter(({ number }) => !this.#answers.has(number))
      if (this.#page < this.#pages.length - 1) this.#turnTo(this.#page + 1)
      else if (open.length === 0) void this.#store()
      else this.#tellOpen(open)
    }

    #tellOpen(open: DsmqItem[]): void {
      const links = open.map((item) =>
        make(
          'li',
          {},
          button(`${item.number}. ${item.label}`, () => this.#leadTo(item)),
        ),
      )
      const anyway = open.some(({ required }) => required)
        ? []
        : [button(this.#words.anyway, () => void this.#store())]
      this.#tell('alert', this.#words.open, make('ul', {}, ...links), ...anyway)
    }

    #leadTo(item: DsmqItem): void {
      this.#show(this.#definition.pages.findIndex(({ items }) => items.includes(item)))
      this.#element.querySelector<HTMLElement>(`input[name="${this.#prefix}-${item.number}"]`)?.focus()
    }

    #tell(role: 'alert' | 'status', ...content: (Node | string)[]): void {
      const box = make('div', { role, tabindex: -1 }, ...content)
      this.#message.replaceChildren(box)
      box.focus()
    }

    /** Allows one request at a time and keeps the answers unchanged while it runs. */
    #lock(sending: boolean): void {
      for (const page of this.#pages) page.inert = sending
      for (const one of [this.#back, this.#send]) one.disabled = sending
    }

    async #store(): Promise<void> {
      if (this.#send.disabled) return
      this.#tell('status', this.#words.sending)
      this.#lock(true)
      try {
        this.#showStored(await answerOf(await this.#request()))
      } catch (error) {
        this.#lock(false)
        const status = error instanceof Refused ? error.status : 500
        const final = isFinal(error)
        if (final) this.#attempt = undefined
        const { notAllowed, notAccepted, notStored } = this.#words
        const why = final ? notAccepted : notStored
        this.#tell('alert', [401, 403, 404].includes(status) ? notAllowed : why)
        fail(this.#element, this.#options, error)
      }
    }

    #request(): Promise<Response> {
      const { ehrId, carePlanId, baseUrl = home, headers } = this.#options
      const { method, hrefTemplate, contentType } = this.#definition.submit
      const target = new URL(
        hrefTemplate.replace('{ehrId}', encodeURIComponent(ehrId)),
        new URL(baseUrl, document.baseURI),
      )
      const answers = this.#items
        .map(({ number }) => number)
        .sort((a, b) => a - b)
        .map((number) => this.#answers.get(number) ?? null)
      const content = JSON.stringify(answers)
      if (this.#attempt?.content !== content)
        this.#attempt = { content, key: keyOf(), timestamp: new Date().toISOString() }
      const { key, timestamp } = this.#attempt
      return fetch(target, {
        method,
        headers: { 'content-type': contentType, 'idempotency-key': key, ...headers },
        body: JSON.stringify({ carePlanId, timestamp, answers }),
      })
    }

    #showStored(result: unknown): void {
      const notice = make('p', {
        class: 'dsmq',
        role: 'status',
        tabindex: -1,
        lang: this.#definition.language,
      })
      notice.append(this.#words.stored)
      this.#element.replaceChildren(notice)
      notice.focus()
      this.#element.dispatchEvent(new CustomEvent('dsmq:result', { bubbles: true, detail: result }))
      this.#options.onResult?.(result)
    }
  }

  /** A unique key. crypto.randomUUID exists on secure pages only. */
  const keyOf = (): string =>
    [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

  function fail(element: HTMLElement, { onError }: DsmqOptions, failure: unknown): void {
    const error = failure instanceof Error ? failure : new Error(String(failure))
    element.dispatchEvent(new CustomEvent('dsmq:error', { bubbles: true, detail: error }))
    onError?.(error)
  }

  const languageAround = (element: HTMLElement): string =>
    element.closest<HTMLElement>('[lang]')?.lang || navigator.language

  async function render(element: HTMLElement, options: DsmqOptions): Promise<void> {
    const { baseUrl = home, headers = {}, definition } = options
    const language = (options.language || languageAround(element)).slice(0, 2).toLowerCase()
    try {
      const query = /^[a-z]{2}$/.test(language) ? `?language=${language}` : ''
      const load = () => fetch(`${baseUrl}${path}dsmq.wizard.json${query}`, { headers }).then(answerOf)
      const questionnaire = definition ?? ((await load()) as DsmqDefinition)
      new Questionnaire(element, options, questionnaire).show()
    } catch (error) {
      element.replaceChildren(make('p', { role: 'alert' }, wordsIn(language).notLoaded))
      fail(element, options, error)
    }
  }

  function start(): void {
    for (const element of document.querySelectorAll<HTMLElement>('[data-dsmq][data-ehr-id]')) {
      const { ehrId = '', carePlanId = '', baseUrl, language } = element.dataset
      void render(element, { ehrId, carePlanId, baseUrl, language })
    }
  }

  const sheet = new CSSStyleSheet()
  sheet.replaceSync(rules)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  Object.assign(window, { Dsmq: { render } })
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start)
  else start()
}
