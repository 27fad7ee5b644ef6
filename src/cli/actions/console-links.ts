/** Links of the console service of a namespace: it issues them through a socket that only its user can open. */
import { join } from 'node:path';
import { serveSocketApi } from '../../agent/api/serve.ts';
import { hasCode } from '../../files/errno.ts';
import { makeDirectory, removeFile } from '../../files/durable.ts';
import { tryLock } from '../../files/lock.ts';
import type { NamespaceLayout } from '../../platform/linux/layout.ts';
import { askSocket } from '../../platform/linux/router-api.ts';
import { LONGEST_SOCKET_PATH } from '../../platform/linux/routers.ts';
import { messageOf } from '../../telemetry/log.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';

const PATH = '/v1/link';

/**
 * Issues links until it is disposed of.
 * @throws CliError exists if another process does it for the namespace
 */
export async function serveConsoleLinks({ namespace, runtime }: NamespaceLayout, createLink: () => string): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  if (Buffer.byteLength(runtime.console) > LONGEST_SOCKET_PATH) {
    const advice = 'Set EARSHOT_HOME to a shorter directory.';
    throw new CliError('failed', `${runtime.console} cannot be opened: a socket has at most ${LONGEST_SOCKET_PATH} bytes. ${advice}`);
  }
  // A site that never ran has no such directory.
  await makeDirectory(runtime.run, 0o700);
  const lock = tryLock(join(runtime.run, '.console.lock'));
  if (lock === undefined) throw new CliError('exists', `A console service already runs for the namespace ${namespace}. Stop it first.`);
  stack.use(lock);
  // A process that was killed leaves its socket.
  await removeFile(runtime.console);
  const answer = ({ method, target }: { readonly method: string; readonly target: string }): { status: number; body: object } =>
    method === 'POST' && target === PATH ? { status: 201, body: { link: createLink() } } : { status: 404, body: {} };
  stack.use(await serveSocketApi({ answer }, runtime.console));
  const owned = stack.move();
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** @throws CliError not-running if no console service runs for the namespace */
export async function requestConsoleLink({ namespace, runtime }: NamespaceLayout): Promise<string> {
  try {
    const answer: unknown = JSON.parse(await askSocket(runtime.console, PATH, 'POST'));
    const link = isRecord(answer) ? answer['link'] : undefined;
    if (typeof link === 'string' && URL.canParse(link)) return printable(link, MOST_CHARACTERS);
    throw new Error('the answer has no link');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ECONNREFUSED')) {
      const [service, here] = [`earshot -n ${namespace} system network-observer`, `earshot -n ${namespace} console`];
      const advice = `Start one with \`${service}\`, or use \`${here}\` in a terminal.`;
      throw new CliError('not-running', `No console service runs for the namespace ${namespace}. ${advice}`);
    }
    const advice = hasCode(error, 'EACCES') ? 'Try again as the user of the site, or as root.' : 'Its log says more.';
    throw new CliError('failed', `The console service of the namespace ${namespace} gave no link: ${messageOf(error)}. ${advice}`);
  }
}

/** Longest link that is printed. */
const MOST_CHARACTERS = 2_048;

export async function printConsoleLink(layout: NamespaceLayout, terminal: Terminal): Promise<void> {
  const link = await requestConsoleLink(layout);
  terminal.note('This link works once, within five minutes:\n');
  terminal.out(`${link}\n`);
}
