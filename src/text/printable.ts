/**
 * What others sent (peers, the API server, pods, files, certificates), made fit to be shown. A terminal obeys control characters, a line
 * of a log ends where the text says so, and other characters hide text or turn round what stands beside them.
 */

/** The text on one line, at most so many characters of it. Line breaks become spaces; what would not be seen is spelled out: `\u{202e}`. */
export function printable(text: string, most = 16_384): string {
  const some = shortened(text, most);
  return ASCII.test(some) ? some : shortened(some.replaceAll(BREAKS, ' ').replaceAll(UNSEEN, spelled), most);
}

/**
 * For the wire and what is made of it: a field of HTTP holds neither an ellipsis nor an umlaut, so there are only the visible
 * characters of ASCII and spaces.
 */
export function printableAscii(text: string, most = 200): string {
  const some = text.slice(0, most).replaceAll(/[^ -~]/g, '?');
  return text.length > most ? `${some}...` : some;
}

/** In double quotes, as one word of a message. */
export function quoted(text: string, most = 80): string {
  return JSON.stringify(shortened(text, most)).replaceAll(UNSEEN, spelled);
}

/** A name, URL or version as it is; anything else, also one with a space at its end, in double quotes. */
export function shownValue(text: string, most = 80): string {
  return text.length <= most && /^[\w./:-]+$/.test(text) ? text : quoted(text, most);
}

/** As JSON, which a terminal shows as it is: what would not be seen is escaped, also what JSON itself lets stand. */
export function visibleJson(value: unknown, space?: number): string {
  const json = JSON.stringify(value, undefined, space);
  // Breaks of lines are the layout's: in texts they are escaped already.
  return ASCII.test(json) ? json : json.replaceAll(UNSEEN, (character) => (character === '\n' ? character : escaped(character)));
}

/** At most so many characters, the last of them an ellipsis where something is left out. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** The longest beginning of the text that has at most so many bytes of UTF-8, whole characters only. */
export function firstBytes(text: string, most: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  return text.slice(0, read);
}

/** Whether the text can be a name of anything: nothing in it ends or hides a line of a log, and UTF-8 can say it. */
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
