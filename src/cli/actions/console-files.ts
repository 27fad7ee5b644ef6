/** Files of a console in a cluster, which the kubelet replaces: its certificate, and its users. */
import { join } from 'node:path';
import type { ConsoleTls } from '../../console/listen.ts';
import type { PasswordAccess } from '../../console/password-access.ts';
import { parsePasswordFile, type PasswordFile } from '../../text/password-file.ts';
import type { ConsoleServer } from '../../console/server.ts';
import { readText } from '../../files/durable.ts';
import { pause } from '../../work/pause.ts';
import { CliError } from '../errors.ts';

/** Milliseconds between two reads. The kubelet takes about a minute to replace the files. */
const EVERY = 60_000;
const MOST_BYTES = 1_048_576;

/** @throws CliError failed */
export async function readTls(directory: string, proxyFile?: string): Promise<ConsoleTls> {
  const files = [join(directory, 'tls.crt'), join(directory, 'tls.key'), ...(proxyFile === undefined ? [] : [proxyFile])];
  const [cert, key, proxyCa] = await Promise.all(files.map((file) => readText(file, { bytes: MOST_BYTES })));
  if (proxyFile !== undefined && proxyCa === undefined)
    throw new CliError(
      'failed',
      `The console cannot be served: ${proxyFile} does not exist. Mount the CA certificate of the proxies there.`,
    );
  if (cert !== undefined && key !== undefined) return { cert, key, ...(proxyCa === undefined ? {} : { proxyCa }) };
  throw new CliError(
    'failed',
    `The console cannot be served: ${directory} does not have tls.crt and tls.key. Mount a Secret of the type kubernetes.io/tls.`,
  );
}

/** @throws CliError failed */
export async function readUsers(file: string): Promise<PasswordFile> {
  const read = await readUsersIfThere(file);
  const cause =
    read === undefined
      ? 'does not exist'
      : `has no user whose password has one of the schemes {PLAIN}, {SHA} and {SSHA} (other lines: ${read.unsupported})`;
  if (read === undefined || read.users.size === 0)
    throw new CliError('failed', `Users of the console cannot be read: ${file} ${cause}. Write one there.`);
  return read;
}

async function readUsersIfThere(file: string): Promise<PasswordFile | undefined> {
  const text = await readText(file, { bytes: MOST_BYTES });
  return text === undefined ? undefined : parsePasswordFile(text);
}

export interface FollowOptions {
  readonly tls?: string;
  readonly users?: string;
  readonly proxyCa?: string;
  /** Milliseconds between two reads; for tests. */
  readonly every?: number;
}

export interface Followers {
  readonly server: Pick<ConsoleServer, 'setTls'>;
  readonly passwords: Pick<PasswordAccess, 'replaceFile'> | undefined;
}

/** Keeps the content of a missing file, which may be about to be replaced. Signs everyone out if the file has no users. */
export async function followFiles(
  { tls, users, proxyCa, every = EVERY }: FollowOptions,
  { server, passwords }: Followers,
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    await pause(every, until).catch(() => undefined);
    if (until.aborted) return;
    const [certificate, file] = await Promise.allSettled([
      tls === undefined ? undefined : readTls(tls, proxyCa),
      users === undefined ? undefined : readUsersIfThere(users),
    ]);
    if (certificate.status === 'fulfilled' && certificate.value !== undefined) setTls(certificate.value, server);
    if (file.status === 'fulfilled' && file.value !== undefined) passwords?.replaceFile(file.value);
  }
}

/** A certificate and a key that do not fit are files in the middle of a change. */
function setTls(tls: ConsoleTls, server: Followers['server']): void {
  try {
    server.setTls(tls);
  } catch {
    // Read again soon.
  }
}
