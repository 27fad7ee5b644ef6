/** Disk of the trust module: converts failures to TrustErrors `state-unavailable`. */
import { realDisk as plain, type Disk } from '../../files/disk.ts';
import { pathInMessages } from '../../files/durable.ts';
import { remedyOf } from '../../files/errno.ts';
import { FileError } from '../../files/errors.ts';
import { TrustError } from '../errors.ts';

export const realDisk: Disk = {
  read: (path, maxBytes) => naming(path, 'read', plain.read(path, maxBytes)),
  async *lines(path, most) {
    const lines = plain.lines(path, most)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await naming(path, 'read', lines.next());
        if (done === true) return;
        yield value;
      }
    } finally {
      await lines.return?.();
    }
  },
  names: (path) => naming(path, 'read', plain.names(path)),
  makeDirectory: (path) => naming(path, 'made', plain.makeDirectory(path)),
  create: (path, bytes, mode) => naming(path, 'written', plain.create(path, bytes, mode)),
  appendLine: (path, line) => naming(path, 'written', plain.appendLine(path, line)),
  rename: (from, to) => naming(to, 'replaced', plain.rename(from, to)),
  link: (text, path) => naming(path, 'linked', plain.link(text, path)),
  remove: (path) => naming(path, 'removed', plain.remove(path)),
  syncDirectory: (path) => naming(path, 'synced', plain.syncDirectory(path)),
};

async function naming<T>(path: string, done: string, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof FileError) throw new TrustError('state-unavailable', error.message, error);
    throw new TrustError('state-unavailable', `${pathInMessages(path)} cannot be ${done} ${remedyOf(error, done)}`, error);
  }
}
