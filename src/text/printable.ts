/**
 * Makes untrusted text safe to show (from peers, the API server, pods, files, certificates). Terminals obey control characters,
 * line breaks forge log lines, and other characters hide text or reverse the text next to them.
 */

/**
 * Puts text on one line of at most `most` characters. Line breaks become spaces; invisible characters are escaped, such as
 * `\u{202e}`.
 */
export function printable(text: string, most = 16_384): string {
  const some = shortened(text, most);
  return ASCII.test(some) ? some : shortened(some.replaceAll(BREAKS, ' ').replaceAll(UNSEEN, spelled), most);
}

/** Restricts text to visible ASCII and spaces for protocols: an HTTP field can contain neither an ellipsis nor an umlaut. */
export function printableAscii(text: string, most = 200): string {
  const some = text.slice(0, most).replaceAll(/[^ -~]/g, '?');
  return text.length > most ? `${some}...` : some;
}

/** Formats text in double quotes, as one word of a message. */
export function quoted(text: string, most = 80): string {
  return JSON.stringify(shortened(text, most)).replaceAll(UNSEEN, spelled);
}

/** Formats a name, URL, address or version as it is. Anything else, such as text with a trailing space, is put in double quotes. */
export function shownValue(text: string, most = 80): string {
  return text.length <= most && /^[\w./:[\]-]+$/.test(text) ? text : quoted(text, most);
}

/** JSON that is safe on a terminal: invisible characters are escaped, even those that JSON allows unescaped. */
export function visibleJson(value: unknown, space?: number): string {
  const json = JSON.stringify(value, undefined, space);
  // Line breaks come from the layout; in texts they are escaped already.
  return ASCII.test(json) ? json : json.replaceAll(UNSEEN, (character) => (character === '\n' ? character : escaped(character)));
}

/** Truncates text to a number of characters; the last one is then an ellipsis. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** The longest prefix of whole characters with at most `most` bytes of UTF-8. */
export function firstBytes(text: string, most: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  return text.slice(0, read);
}

/** Whether the text is usable as a name: it cannot break or hide a log line, and can be encoded as UTF-8. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
}

const ASCII = /^[ -~]*$/;
const BREAKS = /[\t-\r\u0085\u2028\u2029]+/g;
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

function spelled(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
