/** The fields of probes: structured fields of RFC 9651, restricted to what probes use. Pure. */
import { printableAscii } from '../../text/printable.ts';
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
  /** Milliseconds of the connection to the server, TLS included. */
  readonly connect?: number;
}

/** Router between, and the milliseconds from its request to the next router until the answer. */
export interface PassedRouter {
  readonly router: string;
  readonly ms: number;
}

/** Longest field that is parsed: 32 routers with the longest names. */
const MOST_CHARACTERS = 4_096;
const MOST_ENTRIES = 32;

/** @returns undefined for a request that is not a probe, or one of a later version */
export function probeIn(fields: Fields): ProbeKind | undefined {
  const kind = fields[PROBE_FIELD];
  return kind === 'hop' || kind === 'connect' ? kind : undefined;
}

/** A dictionary (RFC 9651 section 3.2). */
export function formatReport({ router, version, queued, connect }: ProbeReport): string {
  const entries = [
    ...(router === undefined ? [] : [`router=${stringOf(router)}`]),
    ...(version === undefined ? [] : [`version=${stringOf(version)}`]),
    ...(queued === undefined ? [] : [`queued=${Math.max(0, Math.trunc(queued))}`]),
    ...(connect === undefined ? [] : [`connect=${decimalOf(connect)}`]),
  ];
  return entries.join(', ');
}

/** Members of other types and unknown ones are ignored, as for a later version. */
export function parseReport(text = ''): ProbeReport {
  const members = new Map(
    membersOf(text).flatMap((member) => {
      const [, name = '', value = ''] = /^([a-z*][a-z0-9_.*-]*)=(.*)$/s.exec(member) ?? [];
      return name === '' ? [] : [[name, value] as const];
    }),
  );
  const [router, version] = [stringIn(members.get('router')), stringIn(members.get('version'))];
  const [queued, connect] = [numberIn(members.get('queued')), numberIn(members.get('connect'))];
  return {
    ...(router === undefined ? {} : { router }),
    ...(version === undefined ? {} : { version }),
    ...(queued === undefined ? {} : { queued }),
    ...(connect === undefined ? {} : { connect }),
  };
}

/** Adds this router to the list of an answer that passes it (RFC 9651 section 3.1). A full or invalid list is passed on unchanged. */
export function appendPassed(fields: Fields, { router, ms }: PassedRouter): Fields {
  const before = fields[PROBE_PATH_FIELD];
  const entry = `${stringOf(router)};ms=${decimalOf(ms)}`;
  if (before === undefined) return { ...fields, [PROBE_PATH_FIELD]: entry };
  if (before.length + entry.length + 2 > MOST_CHARACTERS || membersOf(before).length >= MOST_ENTRIES) return fields;
  return { ...fields, [PROBE_PATH_FIELD]: `${before}, ${entry}` };
}

/** Entries of the list that are valid; a router of the list is untrusted. */
export function parsePassed(text = ''): readonly PassedRouter[] {
  return membersOf(text).flatMap((member) => {
    const [, quoted, ms] = /^("(?:[^"\\]|\\["\\])*");ms=(\d{1,12}(?:\.\d{1,3})?)$/.exec(member) ?? [];
    const router = stringIn(quoted);
    return router === undefined || ms === undefined || !isRouterId(router) ? [] : [{ router, ms: Number(ms) }];
  });
}

/** Splits at commas outside of strings. */
function membersOf(text: string): readonly string[] {
  if (text.length > MOST_CHARACTERS) return [];
  const members = text.match(/(?:"(?:[^"\\]|\\.)*"|[^",])+/g) ?? [];
  return members.slice(0, MOST_ENTRIES).map((member) => member.trim());
}

/** A string (RFC 9651 section 3.3.3): visible ASCII and spaces. */
function stringOf(text: string): string {
  return `"${printableAscii(text).replaceAll(/["\\]/g, '\\$&')}"`;
}

function stringIn(text: string | undefined): string | undefined {
  const [, content] = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(text ?? '') ?? [];
  return content?.replaceAll(/\\(["\\])/g, '$1');
}

/** A decimal (RFC 9651 section 3.3.2): at most three digits after the point. */
function decimalOf(value: number): string {
  return Math.min(Math.max(0, value), 999_999_999_999).toFixed(1);
}

function numberIn(text: string | undefined): number | undefined {
  return /^\d{1,15}$|^\d{1,12}\.\d{1,3}$/.test(text ?? '') ? Number(text) : undefined;
}
