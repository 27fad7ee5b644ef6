/**
 * Bounds on what a YAML text may cost, applied to its tokens before it is parsed. The lexer is linear; parser and composer are not
 * (measured with yaml 2.9: 200,000 nested keys took five minutes, 300,000 anchors more than one). Resources need
 * hardly any of what is bounded here.
 */
import { Lexer } from 'yaml';

export interface YamlTrouble {
  /** Characters from the start. */
  readonly offset: number;
  /** For who wrote the text: may quote it. */
  readonly message: string;
  /** In a word or two, with nothing of the text in it. */
  readonly kind: string;
}

const MOST = {
  /** Anchors, aliases, tags and explicit keys together. */
  rarities: 64,
  /** Of brackets and braces. */
  flowDepth: 24,
  /** `- - -` or `? ?` one after the other. */
  indicatorsInLine: 24,
  /** Spaces before a block's line; its depth is at most this. */
  indentation: 200,
  tokens: 600_000,
  /** Tokens that can only be errors: each costs a message with a context. */
  errors: 20,
};

/** @returns the first thing that is out of bounds, undefined where all is well */
export function guardYaml(text: string): YamlTrouble | undefined {
  let offset = 0;
  let rarities = 0;
  let flowDepth = 0;
  let inLine = 0;
  let keysInLine = 0;
  let errors = 0;
  let tokens = 0;
  let lineStart = true;
  for (const token of new Lexer().lex(text)) {
    const trouble = (message: string): YamlTrouble => ({ offset, message, kind: message });
    tokens += 1;
    if (tokens > MOST.tokens) return trouble('the file has too many parts; split it');
    switch (token[0]) {
      case '\n':
      case '\r':
        inLine = 0;
        keysInLine = 0;
        lineStart = true;
        break;
      case ' ':
      case '\t':
        if (lineStart && token.length > MOST.indentation)
          return trouble(`more than ${MOST.indentation} spaces of indentation; no resource is nested like that`);
        break;
      case '&':
      case '*':
      case '!':
        rarities += 1;
        if (rarities > MOST.rarities)
          return trouble(`more than ${MOST.rarities} anchors, aliases, tags and explicit keys; write the values out`);
        break;
      case '?':
      case '-':
        // A scalar that begins so is announced by \u001F and does not come here.
        if (token.length === 1) {
          inLine += 1;
          rarities += token === '?' ? 1 : 0;
          if (inLine > MOST.indicatorsInLine || rarities > MOST.rarities) return trouble('lists or keys are nested too deeply');
        }
        break;
      case ':':
        keysInLine += 1;
        if (flowDepth === 0 && keysInLine > MOST.indicatorsInLine) return trouble('too many colons in one line');
        break;
      case '[':
      case '{':
        flowDepth += 1;
        if (flowDepth > MOST.flowDepth) return trouble(`brackets are nested more than ${MOST.flowDepth} deep`);
        break;
      case ']':
      case '}':
        flowDepth = Math.max(0, flowDepth - 1);
        break;
      case '"':
      case "'":
        if (token.length === 1 || token.at(-1) !== token[0]) errors += 1;
        if (errors > MOST.errors) return trouble('too many quotes are not closed');
        break;
      default:
        break;
    }
    if (token !== '\n' && token !== '\r' && token.trim() !== '') lineStart = false;
    offset += token === '\u0002' || token === '\u0018' || token === '\u001F' ? 0 : token.length;
  }
  return undefined;
}
