/** `earshot debug conn`: connections of a site's routers. */
import { NotReadable } from '../../errors/not-readable.ts';
import { NotAtRouter } from '../../errors/router-answer-error.ts';
import type { ConnectionRecord, RecordState } from '../../router/contract.ts';
import { mergeRecords } from '../../router/records/merge-records.ts';
import { readRecord } from '../../router/records/read-record.ts';
import { messageOf } from '../../telemetry/log.ts';
import { commandIn } from '../../text/command-in.ts';
import { elapsed } from '../../text/elapsed.ts';
import { printable, quoted } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { fieldsIn, recordsIn } from '../../text/untrusted-fields.ts';
import { CliError } from '../errors.ts';
import { fieldLines, structured, table, type OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import type { SiteRouters } from './site-routers.ts';

export interface ConnectionWords {
  readonly state?: RecordState;
  readonly key?: string;
  readonly site?: string;
  /** Milliseconds. */
  readonly age?: number;
  readonly idle?: number;
  readonly limit: number;
  /** Whether to end the named connection. */
  readonly end?: boolean;
  readonly output?: OutputFormat;
}

/** @throws CliError not-running, not-found, failed */
export async function debugConnections(
  site: SiteRouters,
  id: string | undefined,
  words: ConnectionWords,
  terminal: Terminal,
): Promise<void> {
  if (words.end === true && id === undefined) throw new CliError('usage', 'No connection is named: give the ID of one with --end.');
  try {
    const routers = await site.names();
    if (routers.length === 0) throw new CliError('not-running', site.notRunning);
    if (words.end === true && id !== undefined) await endConnection(site, routers, id, terminal);
    else await listConnections(site, routers, id, words, terminal);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const what = words.end === true ? 'The connection cannot be ended' : 'Connections cannot be listed';
    const remedy = error instanceof NotReadable ? ` ${error.remedy}` : '';
    throw new CliError('failed', `${what}: ${sentence(printable(messageOf(error)))}${remedy}`);
  }
}

async function listConnections(
  site: SiteRouters,
  routers: readonly string[],
  id: string | undefined,
  words: ConnectionWords,
  terminal: Terminal,
): Promise<void> {
  const states = words.state === undefined && id !== undefined ? STATES : [words.state ?? 'open'];
  const found: ConnectionRecord[] = [];
  const faults: string[] = [];
  let more = false;
  for (const router of routers) {
    for (const state of states) {
      try {
        const listed = await listFrom(site, router, { ...words, state, ...(id === undefined ? {} : { id }) });
        found.push(...listed.items);
        more ||= listed.isMore;
      } catch (error) {
        if (error instanceof NotReadable) throw error;
        faults.push(`Router ${router} does not list its connections: ${messageOf(error)}`);
        break;
      }
    }
  }
  if (faults.length === routers.length) throw new CliError('failed', faults.join(' '));
  for (const fault of faults) terminal.note(`${fault}\n`);
  // The latest of all routers, so that the limit does not hide those of one router.
  const merged = mergeRecords(found).toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  const items = merged.slice(0, words.limit);
  if (id !== undefined && items.length === 0) throw notFound(site, id);
  show(items, id !== undefined, words, terminal);
  if (more || merged.length > items.length) terminal.note(`There are more: use --limit, or --key, --site, --age and --idle.\n`);
}

/** RFC 3339: when it ended, or began if it is open. */
const timeOf = ({ begun, ended }: ConnectionRecord): string => ended ?? begun;

const STATES: readonly RecordState[] = ['open', 'ended', 'failed'];

/** Maximum number of requests for one list. A request examines 5,000 connections. */
const MOST_REQUESTS = 400;

async function listFrom(
  { ask }: SiteRouters,
  router: string,
  { state, id, key, site, age, idle, limit }: ConnectionWords & { readonly state: RecordState; readonly id?: string },
): Promise<{ readonly items: readonly ConnectionRecord[]; readonly isMore: boolean }> {
  const query = new URLSearchParams();
  const inSeconds = (milliseconds: number | undefined): number | undefined => milliseconds && Math.ceil(milliseconds / 1000);
  const fields = { state, id, key, site, age: inSeconds(age), idle: inSeconds(idle) };
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value));
  const items: ConnectionRecord[] = [];
  let next: string | undefined;
  for (let count = 0; count < MOST_REQUESTS; count += 1) {
    const most = Math.min(1_000, limit - items.length);
    query.set('limit', String(most));
    if (next !== undefined) query.set('cursor', next);
    const answer = fieldsIn(await ask(router, `/v1/connections?${query}`));
    items.push(...recordsIn(answer['items'], most).map((item) => readRecord(item, state)));
    next = typeof answer['next'] === 'string' ? answer['next'] : undefined;
    if (next === undefined || items.length >= limit) break;
  }
  return { items, isMore: next !== undefined };
}

/** Ends the connection at the first router that has it. The others learn of it. */
async function endConnection(site: SiteRouters, routers: readonly string[], id: string, terminal: Terminal): Promise<void> {
  if (!/^[0-9a-z]{1,32}$/.test(id)) throw new CliError('usage', `${quoted(id)} is not the ID of a connection: it has letters and digits.`);
  const faults: string[] = [];
  for (const router of routers) {
    try {
      await site.ask(router, `/v1/connections/${id}`, 'DELETE');
      terminal.out(`Connection ${id} was ended.\n`);
      return;
    } catch (error) {
      if (error instanceof NotReadable) throw error;
      if (!(error instanceof NotAtRouter)) faults.push(`Router ${router} does not end the connection: ${messageOf(error)}`);
    }
  }
  throw faults.length > 0 ? new CliError('failed', faults.join(' ')) : notFound(site, id);
}

function notFound({ namespace, at }: SiteRouters, id: string): CliError {
  const list = commandIn(at, 'debug conn');
  return new CliError('not-found', `No running router of the namespace ${namespace} has the connection ${quoted(id)}. ${list} lists them.`);
}

function show(items: readonly ConnectionRecord[], isOne: boolean, { output, state }: ConnectionWords, terminal: Terminal): void {
  if (output !== undefined) terminal.out(structured({ items }, output));
  else if (isOne) terminal.out(items.map(describe).join('\n'));
  else if (items.length === 0) terminal.note(`No connection matches.\n`);
  else terminal.out(tableOf(items, state ?? 'open'));
}

function tableOf(items: readonly ConnectionRecord[], state: RecordState): string {
  const isOpen = state === 'open';
  const head = [
    'ID',
    'KEY',
    'FROM',
    'TO',
    isOpen ? 'AGE' : 'ENDED',
    isOpen ? 'IDLE' : 'DURATION',
    'UP',
    'DOWN',
    ...(isOpen ? [] : ['END']),
  ];
  const now = Date.now();
  const rows = items.map((item) => {
    const { id, key, begun, ended, idle, bytes, end } = item;
    const times = isOpen
      ? [elapsed(now - Date.parse(begun)), elapsed(idle ?? 0)]
      : [`${elapsed(now - Date.parse(ended ?? begun))} ago`, elapsed(Date.parse(ended ?? begun) - Date.parse(begun))];
    return [id, key, fromText(item), toText(item), ...times, String(bytes.up), String(bytes.down), ...(isOpen ? [] : [end ?? ''])];
  });
  return table(head, rows);
}

function describe(item: ConnectionRecord): string {
  const { id, key, state, begun, ended, idle, from, via, bytes, ms, end, message, halves, of } = item;
  return fieldLines([
    ['ID', id],
    ['Routing key', key],
    ['State', state],
    ['Begun', begun],
    ['Ended', ended ?? undefined],
    ['Idle', idle === null ? undefined : elapsed(idle)],
    ['From', fromText(item)],
    ['Listener', from.listener ?? undefined],
    ['Via', via.join(', ')],
    ['To', toText(item)],
    ['Bytes to server', bytes.up],
    ['Bytes to client', bytes.down],
    ['Connected after', ms.connect === null ? undefined : `${ms.connect} ms`],
    ['First byte after', ms.firstByte === null ? undefined : `${ms.firstByte} ms`],
    ['End', end ?? undefined],
    ['Message', message ?? undefined],
    ['Known from', halves.map((half) => HALF_TEXT[half]).join(', ')],
    ['Stands for', of === 1 ? undefined : `${of} connections`],
  ]);
}

const HALF_TEXT = { first: "the client's router", transit: 'a router in between', last: "the server's router" } as const;

const fromText = ({ from }: ConnectionRecord): string => place(from.siteName ?? from.site, from.client);

const toText = ({ to }: ConnectionRecord): string => place(to.siteName ?? to.site, to.server);

const place = (site: string | null, address: string | null): string => [site, address].filter((part) => part !== null).join(' ') || '-';
