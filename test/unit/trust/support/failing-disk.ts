import { writeFile } from 'node:fs/promises';
import type { Content, Disk } from '../../../../src/files/disk.ts';
import { realDisk } from '../../../../src/trust/disk/disk.ts';

/** The process died here, as far as the disk knows. */
export class Crash extends Error {}

export interface FailingDisk {
  readonly disk: Disk;
  readonly steps: () => number;
}

/**
 * A disk that performs so many changing steps and then none: neither the one at which it "crashed", whose file
 * may be half written, nor the code's clean-up.
 */
export function crashAfter(limit: number): FailingDisk {
  let steps = 0;
  const step = <T extends readonly unknown[]>(run: (...values: T) => Promise<void>, half?: (...values: T) => Promise<void>) => {
    return async (...values: T): Promise<void> => {
      steps += 1;
      if (steps > limit) {
        if (steps === limit + 1) await half?.(...values);
        throw new Crash(`crashed at step ${steps}`);
      }
      await run(...values);
    };
  };
  const disk: Disk = {
    read: realDisk.read,
    lines: realDisk.lines,
    names: realDisk.names,
    makeDirectory: step(realDisk.makeDirectory),
    create: step(realDisk.create, (path, content) => writeFile(path, half(content), { flag: 'wx', mode: 0o600 })),
    appendLine: step(realDisk.appendLine, (path, line) => writeFile(path, line.slice(0, line.length / 2), { flag: 'a', mode: 0o600 })),
    rename: step(realDisk.rename),
    link: step(realDisk.link),
    remove: step(realDisk.remove),
    syncDirectory: step(realDisk.syncDirectory),
  };
  return { disk, steps: () => steps };
}

const half = (content: Content): string | Uint8Array =>
  typeof content === 'string' || content instanceof Uint8Array ? content.slice(0, content.length / 2) : 'cut off';

/** A disk on which a kind of step fails as the system would fail it. */
export function failing(step: keyof Disk, code: string, isOn: () => boolean): Disk {
  return {
    ...realDisk,
    [step]: async (...values: readonly unknown[]) => {
      if (isOn()) throw Object.assign(new Error(`${code}: it fails`), { code });
      // The same values that the step itself was given.
      return (realDisk[step] as (...values: readonly unknown[]) => Promise<unknown>)(...values);
    },
  };
}
