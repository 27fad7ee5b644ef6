import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { baseDirectory, namespacesDirectory, surroundings, type Surroundings } from './layout.ts';

/**
 * Says how to use the data directory of Skupper on this machine, which has the same layout.
 * @returns undefined if `EARSHOT_HOME` is set, if Earshot has a directory of its own, or if Skupper has none
 */
export function skupperDataAdvice(around: Surroundings = surroundings()): string | undefined {
  if ((around.env['EARSHOT_HOME'] ?? '') !== '') return undefined;
  const own = baseDirectory(around);
  const directory = skupperDirectory(around);
  if (existsSync(namespacesDirectory(own)) || !existsSync(namespacesDirectory(directory))) return undefined;
  return `Skupper's data is in ${directory}: set EARSHOT_HOME=${directory} to use it.`;
}

function skupperDirectory({ env, uid, home }: Surroundings): string {
  if (uid === 0) return '/var/lib/skupper';
  const dataHome = env['XDG_DATA_HOME'] ?? '';
  return join(dataHome.startsWith('/') ? dataHome : join(home, '.local', 'share'), 'skupper');
}
