import { CsiError } from './errors.ts';
import { hasCode } from '../../files/errno.ts';
import { freshName, type Directory, type Name } from './directory.ts';

/** Maximum number of entries removed in one call. A pod that put more into its volume is cleaned up over several calls. */
const MAX_ENTRIES = 200_000;
const NAMES_AT_ONCE = 1_000;

/**
 * Empties a folder that a pod may have filled with files of any name and folders of any depth. Nested folders are moved up
 * instead of descended into. So two open folders are enough, and no path becomes too long.
 */
export async function removeContent(folder: Directory): Promise<void> {
  const budget = { left: MAX_ENTRIES };
  for (let names = await folder.names(NAMES_AT_ONCE); names.length > 0; names = await folder.names(NAMES_AT_ONCE)) {
    for (const name of names) await removeEntry(folder, name, budget);
  }
}

/** Removes one entry with its content. No-op if absent. */
export async function removeEntry(folder: Directory, name: Name, budget: { left: number } = { left: MAX_ENTRIES }): Promise<void> {
  const waiting: Name[] = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if ((await folder.kindOf(next)) === 'folder') waiting.push(...(await flatten(folder, next, budget)));
    else await ignoreAbsent(folder.removeFile(next));
  }
}

/** Removes a folder and its files. Nested folders move up under new names, which are returned. */
async function flatten(parent: Directory, name: Name, budget: { left: number }): Promise<readonly string[]> {
  const movedUp: string[] = [];
  await using folder = await parent.openFolder(name);
  for (let names = await folder.names(NAMES_AT_ONCE); names.length > 0; names = await folder.names(NAMES_AT_ONCE)) {
    for (const inner of names) {
      budget.left -= 1;
      if (budget.left < 0) {
        throw new CsiError('csi-too-much', `The volume holds more than ${MAX_ENTRIES} entries; the rest is removed at the next call.`);
      }
      if ((await folder.kindOf(inner)) === 'folder') {
        const fresh = freshName();
        await parent.take(folder, inner, fresh);
        movedUp.push(fresh);
      } else {
        await ignoreAbsent(folder.removeFile(inner));
      }
    }
  }
  await ignoreAbsent(parent.removeFolder(name));
  return movedUp;
}

async function ignoreAbsent(removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}
