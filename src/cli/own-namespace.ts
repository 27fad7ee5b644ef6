/** Finds out whether a namespace of this machine belongs to the user or to another one. Pure, except for the file checks. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { baseDirectory, layoutOf, namespacesDirectory, surroundings, type Surroundings } from '../platform/linux/layout.ts';
import { commandIn } from '../text/command-in.ts';
import { isLabel } from '../text/names.ts';
import { printable } from '../text/printable.ts';
import { CliError } from './errors.ts';

/** Another user who may own the namespace, and the evidence. */
export interface OtherUser {
  readonly name: string;
  /** Paths that show it; one existing path is enough. */
  readonly signs: readonly string[];
  /** How to act as that user. */
  readonly advice: string;
}

/**
 * The other user whose namespace may be meant: root, or for root the user who ran `sudo`. Undefined if EARSHOT_HOME is set, which
 * names the directory.
 * @param homeOf home directory of a user from /etc/passwd
 */
export function otherUser(
  namespace: string,
  { env, uid }: Surroundings,
  homeOf: (user: string) => string | undefined,
): OtherUser | undefined {
  if ((env['EARSHOT_HOME'] ?? '') !== '') return undefined;
  if (uid !== 0) {
    const directory = join(namespacesDirectory(baseDirectory({ env: {}, uid: 0, home: '/root' })), namespace);
    return { name: 'root', signs: [directory, `/etc/systemd/system/earshot-${namespace}.service`], advice: 'try again with sudo' };
  }
  const name = env['SUDO_USER'] ?? '';
  const home = name === '' || name === 'root' ? undefined : homeOf(name);
  if (home === undefined) return undefined;
  const directory = join(namespacesDirectory(baseDirectory({ env: {}, uid: -1, home })), namespace);
  return { name, signs: [directory], advice: 'try again without sudo' };
}

/** Home directory in passwd(5): the sixth field. */
export function homeIn(passwd: string, user: string): string | undefined {
  const home = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === user)?.[5];
  return home?.startsWith('/') === true ? home : undefined;
}

/** Namespaces of this user on this machine, by name. */
export async function namespacesHere(): Promise<readonly string[]> {
  return (await readdir(namespacesDirectory()).catch(() => [])).filter(isLabel).toSorted();
}

/** The other user who has a namespace of this name, if this user does not have one. */
async function findOther(namespace: string): Promise<OtherUser | undefined> {
  if (existsSync(layoutOf(namespace).root)) return undefined;
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const other = otherUser(namespace, surroundings(), (user) => homeIn(passwd, user));
  return other !== undefined && other.signs.some((path) => existsSync(path)) ? other : undefined;
}

/** @throws CliError not-found if this namespace exists for another user but not for this one */
export async function requireOwnNamespace(namespace: string): Promise<void> {
  const other = await findOther(namespace);
  if (other === undefined) return;
  const create = commandIn(namespace, 'site create NAME');
  throw new CliError(
    'not-found',
    `The namespace ${namespace} of this machine belongs to ${printable(other.name)}: ${other.advice}. For a site of your own, use ${create}, or set EARSHOT_HOME.`,
  );
}

/** Advice after creating a site, in case the user meant that of the other user. */
export async function otherUserAdvice(namespace: string): Promise<string | undefined> {
  const other = await findOther(namespace);
  if (other === undefined) return undefined;
  return `This site is your own, in ${layoutOf(namespace).root}; ${printable(other.name)} also has a namespace ${namespace}.`;
}
