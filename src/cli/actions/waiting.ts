/** Waits until a written resource reaches the desired state, and reports progress meanwhile. */
import { isDeepStrictEqual } from 'node:util';
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { isReady } from '../../site/overview.ts';
import { commandIn } from '../../text/command-in.ts';
import type { Resources } from '../../platform/resources.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { followInterrupt } from '../processes/signals.ts';
import { printable } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';

/** The resources that a command works on, and the terminal that it writes to. */
export interface Context {
  readonly resources: Resources;
  readonly terminal: Terminal;
}

export type Wait = 'none' | 'configured' | 'ready';

export interface WaitOptions {
  /** State to wait for. Default: the command's own, and only if a process runs the namespace. */
  readonly wait?: Wait;
  /** Timeout in milliseconds. */
  readonly timeout: number;
}

/** Result of one poll. Only an error that persists is final. */
export type Look<T> = { readonly done: T } | { readonly waitingFor: string; readonly error?: boolean };

/** Milliseconds for which a state must last before it is shown. */
const SHOW_AFTER = 400;

/**
 * Shows the reason as progress or in the error, never in both.
 * @throws CliError not-ready on timeout, failed if an error persists, interrupted by Ctrl-C
 */
export async function waitUntil<T>(
  { resources, terminal }: Context,
  goal: string,
  timeout: number,
  look: () => Promise<Look<T>>,
): Promise<T> {
  using _followed = resources.follow();
  using interrupt = followInterrupt();
  const { believeAfter } = resources.conventions;
  const checkAgain = `Check again with ${commandIn(resources, 'status')}.`;
  const begin = performance.now();
  let state = { message: '', since: begin, shown: false };
  let errorSince: number | undefined;
  for (let first = true; ; first = false) {
    const seen = await Promise.race([look(), interrupt.happened]);
    if (seen === 'interrupted') {
      const text = sentence(state.message === '' ? goal : `${goal}: ${state.message}`);
      throw new CliError('interrupted', `Interrupted while waiting for ${text} Nothing was undone. ${checkAgain}`);
    }
    if ('done' in seen) return seen.done;
    if (first) terminal.note(`Waiting for ${goal}...\n`);
    const now = performance.now();
    const message = printable(seen.waitingFor);
    if (message !== state.message) state = { message, since: now, shown: false };
    const text = sentence(state.shown ? goal : `${goal}: ${message}`);
    errorSince = seen.error === true ? (errorSince ?? now) : undefined;
    const isOver = now - begin >= timeout;
    if (errorSince !== undefined && (isOver || now - errorSince >= believeAfter))
      throw new CliError('failed', `Failed while waiting for ${text}`);
    if (isOver) {
      throw new CliError('not-ready', `Timed out after ${Math.round(timeout / 10) / 100} s, waiting for ${text} ${checkAgain}`);
    }
    // An error that is soon believed ends the wait with its reason.
    const isProgress = errorSince === undefined || believeAfter === Number.POSITIVE_INFINITY;
    if (isProgress && !state.shown && now - state.since >= SHOW_AFTER) {
      terminal.note(`  ${message}\n`);
      state.shown = true;
    }
    await Promise.race([resources.wait(Math.max(1, Math.min(SHOW_AFTER, timeout - (now - begin)))), interrupt.happened]);
  }
}

/**
 * Waits until the site has adopted this spec of a resource and the resource has reached the level.
 * @returns the resource, or undefined if there is nothing to wait for
 */
export async function waitForStatus(
  context: Context,
  { kind, metadata, spec }: SkupperResource,
  usual: Wait,
  options: WaitOptions,
): Promise<SkupperResource | undefined> {
  const { resources } = context;
  const name = metadata.name ?? '';
  const level = options.wait ?? usual;
  if (level === 'none') return undefined;
  if (options.wait === undefined && (await noteWhereStopped(context))) return undefined;
  return waitUntil<SkupperResource>(context, `${kind} "${name}" to be ${level}`, options.timeout, async () => {
    if ((await resources.notRunning()) !== undefined) return { waitingFor: `no process runs the namespace ${resources.namespace}` };
    const found = await resources.get(kind, name);
    if (found === undefined || !isDeepStrictEqual(plain(found.spec), plain(spec)))
      return { waitingFor: 'the site has not adopted the change' };
    if (level === 'ready' ? isReady(found) : isConfigured(found)) return { done: found };
    return { waitingFor: stateOf(found), error: found.status?.status === 'Error' };
  });
}

/**
 * Formats the state, such as `it is Pending: no connector of its key can be reached`. Without a message in the status, the
 * message of the first unmet condition is used.
 */
export function stateOf({ status: { status = 'Pending', message, conditions = [] } = {} }: Pick<SkupperResource, 'status'>): string {
  const unmet = conditions.find((condition) => condition.status !== 'True' && condition.message !== '');
  const why = message === undefined || message === '' ? (unmet?.message ?? '') : message;
  return `it is ${status}${why === '' ? '' : `: ${why}`}`;
}

/** Waits until the site has removed the resource. */
export async function waitUntilGone(context: Context, kind: SkupperKind, name: string, timeout: number): Promise<void> {
  const { resources } = context;
  const isLeft = async (): Promise<boolean> => (await resources.notRunning()) !== undefined;
  if (await isLeft()) return;
  await waitUntil(context, `${kind} "${name}" to be deleted`, timeout, async () => {
    const gone = (await resources.get(kind, name)) === undefined || (await isLeft());
    return gone ? { done: undefined } : { waitingFor: 'it still exists' };
  });
}

/**
 * Notes it if no process reconciles the resources.
 * @returns whether that is so
 */
export async function noteWhereStopped({ resources, terminal }: Context): Promise<boolean> {
  const advice = await resources.notRunning();
  if (advice !== undefined) terminal.note(`${advice}\n`);
  return advice !== undefined;
}

/** The same error with another sentence at the end of its message. */
export function withSentence(error: CliError, next: string): CliError {
  return new CliError(error.code, `${sentence(error.message)} ${next}`, error.cause);
}

/** @throws CliError not-running */
export async function requireRunning(resources: Resources): Promise<void> {
  const advice = await resources.notRunning();
  if (advice !== undefined) throw new CliError('not-running', advice);
}

/** Whether the resource is `Configured`; a grant has `Processed` instead. */
function isConfigured(resource: SkupperResource): boolean {
  return holds(resource, 'Configured', 'Processed') || isReady(resource);
}

function holds({ status }: SkupperResource, ...types: readonly string[]): boolean {
  return (status?.conditions ?? []).some((condition) => types.includes(condition.type) && condition.status === 'True');
}

/** The value after a round trip through JSON, as it is read back from a file. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
