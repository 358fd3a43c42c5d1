/** Escapes a text for HTML and XML: between tags, and in attribute values. */
export const escapeMarkup = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
