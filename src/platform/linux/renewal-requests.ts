/**
 * "Renew the certificate of this link now", and what came of it: a file a link, by which a command asks the running process. It
 * lies in `internal/` itself, which the running process watches.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RenewalAnswer, RenewalRequests } from '../../agent/ports.ts';
import { hasCode } from '../../files/errno.ts';
import { readText, removeFile, writeDurably } from '../../files/durable.ts';
import { requireResourceName, type NamespaceLayout } from './layout.ts';
import { isRecord } from '../../text/is-record.ts';
import { isResourceName } from '../../text/names.ts';

/** With what the command does. */
export interface RenewalRequestFiles extends RenewalRequests {
  ask(link: string): Promise<void>;
  /** @returns undefined where there is none yet */
  answerTo(link: string): Promise<RenewalAnswer | undefined>;
  /** The answer has been read. */
  drop(link: string): Promise<void>;
}

export function openRenewalRequests({ internal }: NamespaceLayout): RenewalRequestFiles {
  const pathOf = (link: string): string => {
    requireResourceName(link, 'Link');
    return join(internal.root, `renew-${link}.json`);
  };
  const write = (link: string, content: object): Promise<void> => writeDurably(pathOf(link), `${JSON.stringify(content)}\n`, 0o600);
  const read = async (link: string): Promise<unknown> => JSON.parse((await readText(pathOf(link), { bytes: 16_384 })) ?? 'null');
  return {
    ask: (link) => write(link, {}),
    open: async () => {
      const open = new Set<string>();
      for (const link of linksIn(await filesIn(internal.root))) {
        // What cannot be read was not written by a command.
        const content = await read(link).catch(() => undefined);
        if (isRecord(content) && !isAnswer(content)) open.add(link);
      }
      return open;
    },
    answer: write,
    answerTo: async (link) => {
      const content = await read(link);
      return isAnswer(content) ? content : undefined;
    },
    drop: (link) => removeFile(pathOf(link)),
  };
}

function linksIn(files: readonly string[]): readonly string[] {
  return files.flatMap((file) => /^renew-(.+)\.json$/.exec(file)?.slice(1) ?? []).filter(isResourceName);
}

async function filesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function isAnswer(content: unknown): content is RenewalAnswer {
  if (!isRecord(content)) return false;
  if ('refused' in content) return typeof content.refused === 'string';
  const hasSerials = 'serial' in content && typeof content.serial === 'string' && 'before' in content && typeof content.before === 'string';
  return hasSerials && 'until' in content && typeof content.until === 'string';
}
