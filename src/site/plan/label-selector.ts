/** Parses label selectors as Kubernetes does (`labels.Parse`): `app=db,tier in (a, b),!canary`. */
import { quoted } from '../../text/printable.ts';

/** All requirements must hold. */
export type LabelSelector = readonly Requirement[];

interface Requirement {
  readonly key: string;
  /** Value of `key=value`; undefined for other operators. */
  readonly equals?: string;
  readonly holds: (value: string | undefined) => boolean;
}

export type Labels = Readonly<Record<string, string>>;

export function selects(selector: LabelSelector, labels: Labels): boolean {
  return selector.every(({ key, holds }) => holds(Object.hasOwn(labels, key) ? labels[key] : undefined));
}

/**
 * An empty selector selects everything.
 * @returns what is wrong if the text is not a selector
 */
export function parseSelector(text: string): { readonly selector: LabelSelector } | { readonly wrong: string } {
  try {
    return { selector: new Reader(text).all() };
  } catch (error) {
    if (error instanceof SyntaxError) return { wrong: error.message };
    throw error;
  }
}

/** Kubernetes only requires a DNS subdomain before the slash. */
const KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;
/** Operators, and the words between them. */
const TOKENS = /==|!=|[!=<>(),]|[^\s!=<>(),]+/g;
const SIGNS: ReadonlySet<string> = new Set(['==', '!=', '!', '=', '<', '>', '(', ')', ',']);

/** Reads token by token; each method reads the part that it is named after. */
class Reader {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = text.match(TOKENS) ?? [];
  }

  all(): LabelSelector {
    const requirements: Requirement[] = [];
    if (this.#tokens.length === 0) return requirements;
    do requirements.push(this.#requirement());
    while (this.#takes(','));
    const extra = this.#tokens[this.#next];
    if (extra !== undefined) throw new SyntaxError(`has ${quoted(extra)} where a comma is expected`);
    return requirements;
  }

  #requirement(): Requirement {
    const isNegated = this.#takes('!');
    const key = this.#word();
    if (!KEY.test(key))
      throw new SyntaxError(key === '' ? 'lacks the key of a label' : `has ${quoted(key)}, which is not a valid label key`);
    if (isNegated) return { key, holds: (value) => value === undefined };
    const operator = this.#tokens[this.#next];
    if (operator === undefined || operator === ',') return { key, holds: (value) => value !== undefined };
    this.#next += 1;
    if (operator !== '=' && operator !== '==') return { key, holds: this.#condition(operator) };
    const equals = this.#value();
    return { key, equals, holds: equalTo(equals) };
  }

  #condition(operator: string): Requirement['holds'] {
    switch (operator) {
      case '!=':
        return not(equalTo(this.#value()));
      case 'in':
        return oneOf(this.#values());
      case 'notin':
        return not(oneOf(this.#values()));
      case '>':
        return compared(this.#integer(), (label, bound) => label > bound);
      case '<':
        return compared(this.#integer(), (label, bound) => label < bound);
      default:
        throw new SyntaxError(`has ${quoted(operator)} where =, ==, !=, in, notin, < or > is expected`);
    }
  }

  #values(): readonly string[] {
    if (!this.#takes('(')) throw new SyntaxError('lacks a ( after in or notin');
    const values: string[] = [];
    do values.push(this.#value());
    while (this.#takes(','));
    if (!this.#takes(')')) throw new SyntaxError('lacks a ) behind its values');
    return values;
  }

  #integer(): bigint {
    const value = this.#value();
    if (!INTEGER.test(value)) throw new SyntaxError(`compares with ${quoted(value)}, which is not a whole number`);
    return BigInt(value);
  }

  #value(): string {
    const value = this.#word();
    if (!VALUE.test(value)) throw new SyntaxError(`has ${quoted(value)}, which is not a valid label value`);
    return value;
  }

  /** Returns an empty text before an operator. */
  #word(): string {
    const token = this.#tokens[this.#next];
    if (token === undefined || SIGNS.has(token)) return '';
    this.#next += 1;
    return token;
  }

  #takes(sign: string): boolean {
    if (this.#tokens[this.#next] !== sign) return false;
    this.#next += 1;
    return true;
  }
}

const INTEGER = /^-?\d{1,18}$/;

function equalTo(desired: string): Requirement['holds'] {
  return (value) => value === desired;
}

function oneOf(desired: readonly string[]): Requirement['holds'] {
  return (value) => value !== undefined && desired.includes(value);
}

/** A missing label differs from every value. */
function not(holds: Requirement['holds']): Requirement['holds'] {
  return (value) => !holds(value);
}

function compared(bound: bigint, holds: (label: bigint, bound: bigint) => boolean): Requirement['holds'] {
  return (value) => value !== undefined && INTEGER.test(value) && holds(BigInt(value), bound);
}
