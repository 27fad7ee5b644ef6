/** Waits until the running process has done what a file asks for, and says on the way what it is waiting for. */
import { isDeepStrictEqual } from 'node:util';
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import type { NamespaceLayout } from '../../platform/linux/layout.ts';
import { pause } from '../../work/pause.ts';
import { CliError } from '../errors.ts';
import type { Wait, WaitOptions } from '../commands/options.ts';
import { listRuntime, readRuntime, runningRouters, type OfKind } from './runtime-files.ts';
import { printable, type Terminal } from '../output/terminal.ts';

/** What one look finds. An error that stays is final; one that goes by is not. */
export type Look<T> = { readonly done: T } | { readonly waitingFor: string; readonly error?: boolean };

/** Milliseconds: between looks; how long a state stays before it is shown; how long an error stays before it is believed. */
const pace = { look: 50, show: 400, error: 3000 };

/** @throws CliError not-ready at the end of the time, failed where an error stays */
export async function waitUntil<T>(goal: string, timeout: number, terminal: Terminal, look: () => Promise<Look<T>>): Promise<T> {
  const begin = performance.now();
  let state = { message: '', since: begin, shown: false };
  let errorSince: number | undefined;
  for (let first = true; ; first = false) {
    const seen = await look();
    if ('done' in seen) return seen.done;
    if (first) terminal.note(`Waiting for ${goal}...\n`);
    const now = performance.now();
    const message = printable(seen.waitingFor);
    if (message !== state.message) state = { message, since: now, shown: false };
    if (!state.shown && now - state.since >= pace.show) {
      terminal.note(`  ${message}\n`);
      state.shown = true;
    }
    errorSince = seen.error === true ? (errorSince ?? now) : undefined;
    const isOver = now - begin >= timeout;
    if (errorSince !== undefined && (isOver || now - errorSince >= pace.error))
      throw new CliError('failed', `Waited for ${goal}: ${message}`);
    if (isOver) {
      throw new CliError(
        'not-ready',
        `Waited ${timeout / 1000} s for ${goal}, and it is not so yet: ${message}. Go on looking with \`earshot status\`.`,
      );
    }
    await pause(Math.max(1, Math.min(pace.look, timeout - (now - begin))));
  }
}

/**
 * Waits for a resource to be taken up with this spec, and to be as far as asked for.
 * @returns it; undefined where nothing is waited for
 */
export async function settle(
  layout: NamespaceLayout,
  wanted: SkupperResource,
  usual: Wait,
  options: WaitOptions,
  terminal: Terminal,
): Promise<SkupperResource | undefined> {
  const { kind, metadata, spec } = wanted;
  const name = metadata.name ?? '';
  const level = options.wait ?? usual;
  if (level === 'none') return undefined;
  if (options.wait === undefined && (await runningRouters(layout)).length === 0) {
    terminal.note(notRunning(layout));
    return undefined;
  }
  return waitUntil<SkupperResource>(`${kind} "${name}" to be ${level}`, options.timeout, terminal, async () => {
    if ((await runningRouters(layout)).length === 0) return { waitingFor: `nothing runs the namespace ${layout.namespace}` };
    const found = await readRuntime(layout, kind, name);
    if (found === undefined || !isDeepStrictEqual(plain(found.spec), plain(spec)))
      return { waitingFor: 'the change has not been taken up yet' };
    const { status = 'Pending', message = '' } = found.status ?? {};
    if (level === 'ready' ? status === 'Ready' : isConfigured(found)) return { done: found };
    return { waitingFor: `it is ${status}${message === '' ? '' : `: ${message}`}`, error: status === 'Error' };
  });
}

/** Waits until nothing is written back of it any more. */
export async function settleGone(
  layout: NamespaceLayout,
  kind: SkupperKind,
  name: string,
  timeout: number,
  terminal: Terminal,
): Promise<void> {
  if ((await runningRouters(layout)).length === 0) return;
  await waitUntil(`${kind} "${name}" to be gone`, timeout, terminal, async () => {
    const gone = (await readRuntime(layout, kind, name)) === undefined || (await runningRouters(layout)).length === 0;
    return gone ? { done: undefined } : { waitingFor: 'it is still there' };
  });
}

/**
 * Waits until a process has said that it runs the namespace. Whoever started it knows earlier that it was started, and a
 * command that follows at once would find nothing.
 * @param log the command that shows what it wrote
 */
export async function untilRunning(layout: NamespaceLayout, timeout: number, log: string, terminal: Terminal): Promise<void> {
  await waitUntil(`the namespace ${layout.namespace} to be run`, timeout, terminal, async () => {
    if ((await runningRouters(layout)).length > 0) return { done: undefined };
    return { waitingFor: `its process is starting; if it does not, \`${log}\` says why` };
  });
}

/** The one Site of the namespace, as the running process sees it. */
export async function runtimeSite(layout: NamespaceLayout): Promise<OfKind<'Site'> | undefined> {
  return (await listRuntime(layout, 'Site'))[0];
}

export function notRunning({ namespace }: NamespaceLayout): string {
  const at = namespace === 'default' ? '' : ` -n ${namespace}`;
  return `Nothing runs the namespace ${namespace} yet: start it with \`earshot${at} run\` or \`earshot${at} system install\`.\n`;
}

/** @throws CliError not-running */
export async function requireRunning(layout: NamespaceLayout): Promise<void> {
  if ((await runningRouters(layout)).length === 0) throw new CliError('not-running', notRunning(layout).trim());
}

/** `Configured`; a grant has `Processed` in its place. */
function isConfigured({ status }: SkupperResource): boolean {
  return (status?.conditions ?? []).some(({ type, status: holds }) => (type === 'Configured' || type === 'Processed') && holds === 'True');
}

/** As it comes back out of a file. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
