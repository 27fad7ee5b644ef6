/** Stands for `node:fs` in the router: of the machine's files it reads what the kernel tells, and here the kernel tells nothing. */
export * from 'node:fs';

function missing(path: string): never {
  throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
}

export const openSync = missing;
export const readFileSync = missing;
export const readdirSync = missing;
export const readlinkSync = missing;
export const unlinkSync = missing;
export function chmodSync(): void {}
