/** Stands for `node:fs` in the router, which reads only files of the kernel; here the kernel has none. */
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
