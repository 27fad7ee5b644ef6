/** A pod's view of a listener volume, byte for byte, and the expected one. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { ListenerIngress } from '../../../src/api/listeners/index.ts';
import { eventually } from '../../harness/index.ts';

/** Path below the volume → `-> TEXT` for a link, `/` for a folder, otherwise the file's bytes as text (Latin-1). */
export type TreeFiles = Readonly<Record<string, string>>;

/** Runs a program where the volume is seen, and returns what it prints. */
type Run = (argv: readonly string[]) => Promise<string>;

/** Mount paths of volumes in the pods of manifests.ts. */
export function mountPath(volume: string): string {
  return `/listeners/${volume}`;
}

/**
 * Everything that `ls` and a glob show, through links to folders. The tree promises what a path leads to, not that
 * `addresses` is a folder rather than a link to one.
 */
const script = `
cd "$1" || exit 1
for name in *; do
  [ "$name" = addresses ] && continue
  if [ -L "$name" ]; then echo "link $name $(readlink "$name")"
  elif [ -d "$name" ]; then echo "folder $name"
  else echo "file $name $(od -A n -v -t x1 "$name" | tr -d ' \\n')"; fi
done
find -L addresses -type d | while read -r path; do echo "folder $path"; done
find -L addresses ! -type d | while read -r path; do echo "file $path $(od -A n -v -t x1 "$path" | tr -d ' \\n')"; done
`;

export async function readTree(run: Run, folder: string): Promise<TreeFiles> {
  const lines = (await run(['sh', '-c', script, 'sh', folder])).split('\n').filter((line) => line !== '');
  return sorted(
    lines.map((line): [string, string] => {
      const [kind, path = '', value = ''] = line.split(' ');
      if (kind === 'link') return [path, `-> ${value}`];
      return kind === 'folder' ? [path, '/'] : [path, Buffer.from(value, 'hex').toString('latin1')];
    }),
  );
}

export function expectedTree(addresses: readonly ListenerIngress[]): TreeFiles {
  const [primary] = addresses;
  if (primary === undefined) throw new TypeError('a tree has at least one address');
  return sorted([
    ['default-address', `-> addresses/${primary.address}`],
    ['addresses', '/'],
    ...addresses.flatMap(({ address, ports }): [string, string][] => [
      [`addresses/${address}`, '/'],
      [`addresses/${address}/address`, address],
      [`addresses/${address}/ports`, '/'],
      ...Object.entries(ports).map(([name, port]): [string, string] => [`addresses/${address}/ports/${name}`, String(port)]),
    ]),
  ]);
}

/**
 * Waits until a tree is as it should be. For a moment after its primary address changed it shows the former one as well
 * (docs/adr/0004-csi-and-the-tree.md).
 */
export async function becomesTree(read: () => Promise<TreeFiles>, addresses: readonly ListenerIngress[]): Promise<void> {
  const expected = expectedTree(addresses);
  const isReached = async (): Promise<boolean> => isDeepStrictEqual(await read(), expected);
  // If it is missing, the comparison below shows the difference.
  await eventually('the tree', isReached, { timeoutMs: 30_000 }).catch(() => undefined);
  assert.deepEqual(await read(), expected);
}

function sorted(entries: readonly (readonly [string, string])[]): TreeFiles {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A command that ends once a file holds a text, or fails after a minute with what it holds. */
export function untilFile(path: string, text: string): readonly string[] {
  const giveUp = '[ $n -le 600 ] || { echo "holds: $(cat "$1")" >&2; exit 1; }';
  const wait = `n=0; until [ "$(cat "$1" 2>/dev/null)" = "$2" ]; do n=$((n + 1)); ${giveUp}; sleep 0.1; done`;
  return ['sh', '-c', wait, 'sh', path, text];
}
