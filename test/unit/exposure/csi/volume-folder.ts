import assert from 'node:assert/strict';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Directory } from '../../../../src/exposure/csi/directory.ts';
import type { Tree } from '../../../../src/exposure/csi/tree.ts';
import { writeTree } from '../../../../src/exposure/csi/tree-writer.ts';

/** A folder of a test's own, removed at its end. */
export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

export function temporaryFolder(): TemporaryFolder {
  // Sockets live below it, and a socket's path has at most 107 bytes (unix(7)).
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'csi-')));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export function tree(primary: string, addresses: Readonly<Record<string, Readonly<Record<string, number>>>>): Tree {
  return { primary, addresses: new Map(Object.entries(addresses).map(([name, ports]) => [name, new Map(Object.entries(ports))])) };
}

/** The volume as a pod reads it, by plain paths and through all links: path -> content. */
export function readAsPod(mount: string): Record<string, string> {
  const files: Record<string, string> = {};
  const visit = (path: string): void => {
    for (const name of readdirSync(join(mount, path))) {
      const inner = path === '' ? name : `${path}/${name}`;
      if (name.startsWith('..')) continue;
      if (lstatSync(realpathSync(join(mount, inner))).isDirectory()) visit(inner);
      else files[inner] = readFileSync(join(mount, inner), 'utf8');
    }
  };
  visit('');
  return files;
}

/** Expected result of `readAsPod` for a tree: the rule of the file layout, written down naively. */
export function filesOf({ primary, addresses }: Tree): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [address, ports] of addresses) {
    const folders = [`addresses/${address}`, ...(address === primary ? ['default-address'] : [])];
    for (const folder of folders) {
      files[`${folder}/address`] = address;
      for (const [name, number] of ports) files[`${folder}/ports/${name}`] = `${number}`;
    }
  }
  return files;
}

export function defaultLink(mount: string): string {
  return readlinkSync(join(mount, 'default-address'));
}

export function hiddenNames(mount: string): readonly string[] {
  return readdirSync(mount).filter((name) => name.startsWith('..'));
}

/** Writes a volume as the driver does; whether anything changed. */
export async function write(mount: string, wanted: Tree, settleMilliseconds = 0, keepsFolders = false): Promise<boolean> {
  await using folder = await Directory.open(mount);
  const { isChanged, leftBehind } = await writeTree(folder, wanted, { settleMilliseconds, keepsFolders });
  assert.equal(leftBehind, undefined);
  return isChanged;
}
