/**
 * Limits the cost of a YAML text by its tokens before they are parsed. The lexer is linear, but parser and composer are not (yaml
 * 2.9: 200,000 nested keys took five minutes, 300,000 anchors more than one). Resources hardly need the limited features.
 */
import { Lexer } from 'yaml';

export interface YamlProblem {
  /** Offset in characters from the start. */
  readonly offset: number;
  /** Message for the author of the text; may quote it. */
  readonly message: string;
  /** Short description that contains nothing of the text. */
  readonly kind: string;
}

/** @returns the first violation, or undefined */
export function guardYaml(text: string): YamlProblem | undefined {
  const guard = new YamlGuard();
  for (const token of new Lexer().lex(text)) {
    const problem = guard.add(token);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Checks the tokens of a text one by one. */
export class YamlGuard {
  readonly #counts: TokenCounts;
  #offset = 0;

  /**
   * @param mostOfDocument maximum number of parts of each document. A document is parsed in one go while other work waits, at
   * some microseconds per part
   */
  constructor(mostOfDocument = Infinity) {
    this.#counts = new TokenCounts(mostOfDocument);
  }

  /** @returns the violation caused by this token */
  add(token: string): YamlProblem | undefined {
    const problem = this.#counts.add(token);
    if (problem !== undefined) return { offset: this.#offset, message: `${problem}.`, kind: problem };
    this.#offset += ANNOUNCEMENTS.has(token) ? 0 : token.length;
    return undefined;
  }
}

const [SCALAR_FOLLOWS, BRACKETS_END_WRONGLY] = ['\u001F', '\u0018'];
/** Tokens that represent no character: a document begins, brackets end wrongly, a scalar follows. */
const ANNOUNCEMENTS: ReadonlySet<string> = new Set(['\u0002', BRACKETS_END_WRONGLY, SCALAR_FOLLOWS]);

const MOST = {
  /** Maximum number of anchors, aliases, tags and explicit keys together. */
  rarities: 64,
  /** Maximum nesting of brackets and braces. */
  flowDepth: 24,
  /** Maximum number of consecutive `- - -` or `? ?` in a line. */
  indicatorsInLine: 24,
  /** Maximum indentation of a block's line in spaces, which limits its depth. */
  indentation: 200,
  tokens: 600_000,
  /** Maximum number of tokens that can only be errors: each costs a message with context. */
  errors: 20,
};

class TokenCounts {
  readonly #mostOfDocument: number;
  #tokens = 0;
  #ofDocument = 0;
  #rarities = 0;
  #flowDepth = 0;
  #errors = 0;
  #inLine = 0;
  #keysInLine = 0;
  #isLineStart = true;
  #isScalar = false;

  constructor(mostOfDocument: number) {
    this.#mostOfDocument = mostOfDocument;
  }

  /** @returns the violation caused by this token */
  add(token: string): string | undefined {
    this.#tokens += 1;
    if (this.#tokens > MOST.tokens) return 'the file has too many parts; split it';
    if ((token === '---' || token === '...') && !this.#isScalar) this.#ofDocument = 0;
    this.#isScalar = token === SCALAR_FOLLOWS;
    this.#ofDocument += 1 + (token.length > 1 ? partsIn(token) : 0);
    if (this.#ofDocument > this.#mostOfDocument) return 'the resource has too many parts; remove unneeded parts, such as a status';
    if (token[0] === '\n' || token[0] === '\r') {
      this.#inLine = 0;
      if (this.#flowDepth === 0) this.#keysInLine = 0;
      this.#isLineStart = true;
      return undefined;
    }
    const problem = this.#count(token);
    if (token.trim() !== '') this.#isLineStart = false;
    return problem;
  }

  #count(token: string): string | undefined {
    switch (token[0]) {
      case ' ':
      case '\t':
        if (!this.#isLineStart || token.length <= MOST.indentation) return undefined;
        return `more than ${MOST.indentation} spaces of indentation; no resource is nested like that`;
      case '&':
      case '*':
      case '!':
        this.#rarities += 1;
        if (this.#rarities <= MOST.rarities) return undefined;
        return `more than ${MOST.rarities} anchors, aliases, tags and explicit keys; write the values out`;
      case '?':
      case '-':
        // A scalar with this prefix is announced by \u001F and is not counted here.
        if (token.length > 1) return undefined;
        this.#inLine += 1;
        this.#rarities += token === '?' ? 1 : 0;
        if (this.#inLine <= MOST.indicatorsInLine && this.#rarities <= MOST.rarities) return undefined;
        return 'lists or keys are nested too deeply';
      case ':':
        this.#keysInLine += 1;
        if (this.#keysInLine <= MOST.indicatorsInLine) return undefined;
        return this.#flowDepth === 0 ? 'too many colons in one line' : 'too many colons without a comma between them';
      case ',':
        this.#keysInLine = 0;
        return undefined;
      case '[':
      case '{':
        this.#keysInLine = 0;
        this.#flowDepth += 1;
        return this.#flowDepth > MOST.flowDepth ? `brackets are nested more than ${MOST.flowDepth} deep` : undefined;
      case ']':
      case '}':
        this.#errors += this.#flowDepth === 0 ? 1 : 0;
        this.#flowDepth = Math.max(0, this.#flowDepth - 1);
        return this.#errors > MOST.errors ? 'too many brackets close nothing' : undefined;
      case BRACKETS_END_WRONGLY:
        this.#flowDepth = 0;
        return undefined;
      case '"':
      case "'":
        this.#errors += token.length === 1 || token.at(-1) !== token[0] ? 1 : 0;
        return this.#errors > MOST.errors ? 'too many quotes are not closed' : undefined;
      default:
        return undefined;
    }
  }
}

/** Number of lines and escapes of a scalar. Each one is parsed separately. */
function partsIn(token: string): number {
  let parts = 0;
  for (let at = 0; at < token.length; at += 1) {
    const character = token[at];
    if (character === '\n' || character === '\\') parts += 1;
  }
  return parts;
}
