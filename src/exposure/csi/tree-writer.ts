import { hasCode } from '../../files/errno.ts';
import { freshName, type Directory } from './directory.ts';
import { removeEntry } from './remove-content.ts';
import { ADDRESSES, DEFAULT_ADDRESS, isSegment, planChange, type Observed, type Ports, type Step, type Tree } from './tree.ts';
import { pause } from '../../work/pause.ts';

/**
 * How long the former primary address stays next to the new one. A reader resolves two links within one open(2), which takes
 * microseconds, but the scheduler may preempt it in between.
 */
const SETTLE_MILLISECONDS = 100;
/** Limits for reading back: more than an object of the API server can contain, but small enough for memory. */
const MAX_NAMES = 10_000;
const MAX_FILE_BYTES = 256;

export interface Written {
  readonly isChanged: boolean;
  /** Why an obsolete entry could not be removed. The next change retries. */
  readonly leftBehind?: unknown;
}

export interface WriteOptions {
  readonly settleMilliseconds?: number;
  /** Whether a container mounts part of the volume by subPath, so that it may still see a folder that is not shown any more. */
  readonly keepsFolders?: boolean;
}

/**
 * Makes the open folder of a volume show a tree (see tree.ts). Runs once at a time for each volume, and repairs the leftovers of
 * an interrupted run.
 * Nothing is synced to disk: after a power failure no reader is left, and the kubelet publishes every volume again before it
 * starts a pod. An incomplete tree is then rewritten.
 */
export async function writeTree(
  folder: Directory,
  desired: Tree,
  { settleMilliseconds = SETTLE_MILLISECONDS, keepsFolders = false }: WriteOptions = {},
): Promise<Written> {
  const observed = await observe(folder);
  const steps = planChange(observed, desired, freshName);
  const isChanged = steps.length > 0;
  const kept = isChanged && keepsFolders ? (await hiddenNames(folder)).map(String) : [];
  for (const step of steps) {
    try {
      await take(step, folder, { settleMilliseconds, keepsFolders });
    } catch (error) {
      if (step.kind === 'tidy') return { isChanged, leftBehind: error };
      await removeUnfinished(folder, [...observed.current, ...kept]);
      throw error;
    }
  }
  return { isChanged };
}

/** Removes what a failed write left, so that retries do not fill the volume. Entries that cannot be removed stay. */
async function removeUnfinished(folder: Directory, before: readonly string[]): Promise<void> {
  try {
    const now = await observe(folder);
    await removeHidden(folder, [...before, ...now.current]);
  } catch {
    // The original error says more.
  }
}

async function take(step: Step, folder: Directory, options: Required<WriteOptions>): Promise<void> {
  switch (step.kind) {
    case 'write':
      await writeGeneration(folder, step.generation, step.content);
      break;
    case 'link':
      await replaceByLink(folder, step.name, step.text);
      break;
    case 'aside':
      await folder.rename(step.name, step.hidden);
      break;
    case 'settle':
      await pause(options.settleMilliseconds);
      break;
    case 'tidy':
      await removeHidden(folder, step.keep, options.keepsFolders);
      break;
  }
}

async function writeGeneration(folder: Directory, name: string, content: ReadonlyMap<string, Ports>): Promise<void> {
  await using generation = await folder.makeFolder(name);
  for (const [address, ports] of content) {
    await using addressFolder = await generation.makeFolder(address);
    await addressFolder.makeFile('address', address);
    await using portsFolder = await addressFolder.makeFolder('ports');
    for (const [port, number] of ports) await portsFolder.makeFile(port, String(number));
  }
}

async function replaceByLink(folder: Directory, name: string, text: string): Promise<void> {
  const prepared = freshName();
  await folder.makeLink(prepared, text);
  // A link cannot be renamed over a folder. Only the pod itself can have created one here, so it is moved aside.
  if ((await folder.kindOf(name)) === 'folder') await folder.rename(name, freshName());
  await folder.rename(prepared, name);
}

async function removeHidden(folder: Directory, keep: readonly string[], keepsFolders = false): Promise<void> {
  for (const name of await hiddenNames(folder)) {
    if (keep.includes(name.toString()) || (keepsFolders && (await folder.kindOf(name)) === 'folder')) continue;
    await removeEntry(folder, name);
  }
}

async function hiddenNames(folder: Directory): Promise<readonly Buffer[]> {
  return (await folder.names(MAX_NAMES)).filter((name) => name.subarray(0, 2).equals(HIDDEN));
}

const HIDDEN = Buffer.from('..');

/** Reads back what a volume shows. A pod may have changed anything; unexpected entries make it incomplete. */
export async function observe(folder: Directory): Promise<Observed> {
  const defaultText = await folder.readLink(DEFAULT_ADDRESS);
  const [, primary] = /^addresses\/([^/]+)$/.exec(defaultText ?? '') ?? [];
  const [, around] = /^(\.\.[^/]+)\/[^/]+$/.exec(defaultText ?? '') ?? [];
  const shown = await observeAddresses(folder);
  const { generation, ...rest } = shown;
  return {
    ...rest,
    primary: primary !== undefined && isSegment(primary) ? primary : undefined,
    current: [generation, around].filter((name) => name !== undefined),
  };
}

type Addresses = Pick<Observed, 'addresses' | 'content' | 'isWhole'> & { readonly generation?: string };

async function observeAddresses(folder: Directory): Promise<Addresses> {
  const kind = await folder.kindOf(ADDRESSES);
  // The layout of an earlier system stays valid until something changes.
  if (kind === 'folder') return { addresses: 'folder', ...(await readGeneration(folder, ADDRESSES)) };
  const text = kind === 'link' ? await folder.readLink(ADDRESSES) : undefined;
  const isGeneration = text !== undefined && /^\.\.[^/]+$/.test(text) && (await folder.kindOf(text)) === 'folder';
  if (isGeneration) return { addresses: 'generation', generation: text, ...(await readGeneration(folder, text)) };
  return { addresses: kind === 'absent' ? 'absent' : 'other', content: new Map(), isWhole: false };
}

async function readGeneration(folder: Directory, name: string): Promise<Pick<Observed, 'content' | 'isWhole'>> {
  const content = new Map<string, Ports>();
  try {
    await using generation = await folder.openFolder(name);
    const names = await generation.names(MAX_NAMES);
    for (const raw of names) {
      const address = raw.toString();
      const ports = isSegment(address) ? await readAddress(generation, address) : undefined;
      if (ports !== undefined) content.set(address, ports);
    }
    return { content, isWhole: content.size === names.length };
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return { content, isWhole: false };
    throw error;
  }
}

async function readAddress(generation: Directory, address: string): Promise<Ports | undefined> {
  if ((await generation.kindOf(address)) !== 'folder') return undefined;
  await using folder = await generation.openFolder(address);
  if ((await folder.readFile('address', MAX_FILE_BYTES)) !== address) return undefined;
  if ((await folder.names(MAX_NAMES)).length !== 2 || (await folder.kindOf('ports')) !== 'folder') return undefined;
  await using portsFolder = await folder.openFolder('ports');
  const ports = new Map<string, number>();
  for (const raw of await portsFolder.names(MAX_NAMES)) {
    const name = raw.toString();
    const text = await portsFolder.readFile(raw, MAX_FILE_BYTES);
    if (!isSegment(name) || text === undefined || !/^[1-9]\d{0,4}$/.test(text)) return undefined;
    ports.set(name, Number(text));
  }
  return ports;
}
