/** The fields of probes: structured fields of RFC 9651, restricted to what probes use. Pure. */
import { printableAscii } from '../../text/printable.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';
import { isRouterId } from '../../routing/names.ts';
import type { Fields } from '../../http2/contract.ts';
import { PROBE_FIELD, PROBE_PATH_FIELD } from '../wire.ts';

/** `hop`: the last router of the route answers 404. `connect`: it connects to a server of the routing key, and closes that again. */
export type ProbeKind = 'hop' | 'connect';

/** What a router reports about itself or about its connection to a server. Old routers report nothing. */
export interface ProbeReport {
  readonly router?: string;
  readonly version?: string;
  /** Bytes that wait to be sent back over the stream's link. */
  readonly queued?: number;
  /** Time by the router's clock, in milliseconds since 1970. */
  readonly clock?: number;
  /** Milliseconds that the request waited in the router until it began. */
  readonly in?: number;
  /** Milliseconds of the connection to the server, TLS included. */
  readonly connect?: number;
  /** Milliseconds of them for TLS. */
  readonly tls?: number;
  /** Number of servers of the routing key. */
  readonly key?: number;
  /** Number of those that are set aside, since they failed. */
  readonly aside?: number;
}

/** Router between, and how long it waited for the next router. */
export interface PassedRouter {
  readonly router: string;
  /** Milliseconds from its request to the next router until the answer. */
  readonly ms: number;
  /** Milliseconds of the last ping to the next router. What `ms` has beyond it was spent in routers. */
  readonly nextRtt?: number;
}

/** Longest list that is parsed: 32 routers with the longest names. */
const MOST_CHARACTERS = 4_096;
/** Longest report that is parsed: a few numbers, a router and a version. */
const MOST_OF_REPORT = 1_024;
const MOST_ENTRIES = 32;

/** @returns undefined for a request that is not a probe, or one of a later version */
export function probeIn(fields: Fields): ProbeKind | undefined {
  const kind = fields[PROBE_FIELD];
  return kind === 'hop' || kind === 'connect' ? kind : undefined;
}

/** A dictionary (RFC 9651 section 3.2). */
export function formatReport({ router, version, ...numbers }: ProbeReport): string {
  const entries = [
    ...(router === undefined ? [] : [`router=${stringOf(router)}`]),
    ...(version === undefined ? [] : [`version=${stringOf(version)}`]),
    ...COUNTS.flatMap((name) => memberOf(name, numbers[name], integerOf)),
    ...TIMES.flatMap((name) => memberOf(name, numbers[name], decimalOf)),
  ];
  return entries.join(', ');
}

const COUNTS = ['queued', 'clock', 'key', 'aside'] as const;
const TIMES = ['in', 'connect', 'tls'] as const;

function memberOf(name: string, value: number | undefined, format: (value: number) => string): readonly string[] {
  return value === undefined ? [] : [`${name}=${format(value)}`];
}

/** Members of other types and unknown ones are ignored, as for a later version. */
export function parseReport(text = ''): ProbeReport {
  if (text.length > MOST_OF_REPORT) return {};
  const members = new Map(
    splitMembers(text, MOST_ENTRIES).flatMap((member) => {
      const [, name = '', value = ''] = /^([a-z*][a-z0-9_.*-]*)=(.*)$/s.exec(member) ?? [];
      return name === '' ? [] : [[name, value] as const];
    }),
  );
  const [textOf, numberOf] = [(name: string) => stringIn(members.get(name)), (name: string) => numberIn(members.get(name))];
  return withoutUndefined({
    router: textOf('router'),
    version: textOf('version'),
    queued: numberOf('queued'),
    clock: numberOf('clock'),
    in: numberOf('in'),
    connect: numberOf('connect'),
    tls: numberOf('tls'),
    key: numberOf('key'),
    aside: numberOf('aside'),
  });
}

/** Adds this router to the list of an answer that passes it (RFC 9651 section 3.1). A full or invalid list is passed on unchanged. */
export function appendPassed(fields: Fields, { router, ms, nextRtt }: PassedRouter): Fields {
  const before = fields[PROBE_PATH_FIELD];
  const entry = `${stringOf(router)};ms=${decimalOf(ms)}${nextRtt === undefined ? '' : `;next-rtt=${decimalOf(nextRtt)}`}`;
  if (before === undefined) return { ...fields, [PROBE_PATH_FIELD]: entry };
  if (before.length + entry.length + 2 > MOST_CHARACTERS || splitMembers(before, MOST_ENTRIES).length >= MOST_ENTRIES) return fields;
  return { ...fields, [PROBE_PATH_FIELD]: `${before}, ${entry}` };
}

/** Entries of the list that are valid; a router of the list is untrusted. */
export function parsePassed(text = ''): readonly PassedRouter[] {
  if (text.length > MOST_CHARACTERS) return [];
  return splitMembers(text, MOST_ENTRIES).flatMap((member) => {
    const [, quoted, parameters = ''] = /^("(?:[^"\\]|\\["\\])*")((?:;[a-z0-9_.*-]+(?:=[^;"]*)?)*)$/.exec(member) ?? [];
    const router = stringIn(quoted);
    const [ms, nextRtt] = ['ms', 'next-rtt'].map((name) => numberIn(parameterIn(parameters, name)));
    if (router === undefined || ms === undefined || !isRouterId(router)) return [];
    return [{ router, ms, ...(nextRtt === undefined ? {} : { nextRtt }) }];
  });
}

function parameterIn(parameters: string, name: string): string | undefined {
  const start = `${name}=`;
  return parameters
    .split(';')
    .find((parameter) => parameter.startsWith(start))
    ?.slice(start.length);
}

/** Characters of a text. The number of reads is what a hostile field costs. */
export type Characters = Pick<string, 'length' | 'charCodeAt' | 'slice'>;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];

/** Splits at commas outside of strings. Reads each character once at most. An unclosed string extends to the end. */
export function splitMembers(text: Characters, most: number): readonly string[] {
  const members: string[] = [];
  let [begin, isInString] = [0, false];
  for (let at = 0; at < text.length && members.length < most; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isInString = !isInString;
    else if (code === BACKSLASH && isInString) at += 1;
    else if (code === COMMA && !isInString) {
      members.push(text.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  if (members.length < most) members.push(text.slice(begin).trim());
  return members;
}

/** A string (RFC 9651 section 3.3.3): visible ASCII and spaces. */
function stringOf(text: string): string {
  return `"${printableAscii(text).replaceAll(/["\\]/g, '\\$&')}"`;
}

function stringIn(text: string | undefined): string | undefined {
  const [, content] = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(text ?? '') ?? [];
  return content?.replaceAll(/\\(["\\])/g, '$1');
}

/** An integer (RFC 9651 section 3.3.1). */
function integerOf(value: number): string {
  return String(Math.min(Math.max(0, Math.trunc(value)), 999_999_999_999_999));
}

/** A decimal (RFC 9651 section 3.3.2): at most three digits after the point. */
function decimalOf(value: number): string {
  return Math.min(Math.max(0, value), 999_999_999_999).toFixed(1);
}

function numberIn(text: string | undefined): number | undefined {
  return /^\d{1,15}$|^\d{1,12}\.\d{1,3}$/.test(text ?? '') ? Number(text) : undefined;
}
