import { readFile } from 'node:fs/promises';
import { EarshotError } from '../../errors/earshot-error.ts';

/** How to reach an API server, as of one reading. */
export interface Connection {
  /** http(s)://host[:port][/prefix] */
  readonly server: string;
  /** PEM. Left out: the system's authorities. */
  readonly ca?: string;
  /** PEM, client certificate and its key. */
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate must carry, where it is not the URL's host. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
  readonly token?: string;
}

/** Where a connection's settings come from. They are read again while the client runs: tokens rotate, authorities change. */
export interface ConfigSource {
  /** For messages: a file's path, or the like. */
  readonly name: string;
  /** The namespace that the source names, where it does: a pod's own, or the context's. */
  readonly namespace: string | undefined;
  /** The context of a kubeconfig that it is. */
  readonly context?: string;
  load(): Promise<Connection>;
}

/** Settings that never change. */
export function fixedConfig(connection: Connection): ConfigSource {
  return { name: connection.server, namespace: undefined, load: () => Promise.resolve(connection) };
}

/** @throws EarshotError `kube-config` */
export async function readSetting(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const remedy = 'A pod needs automountServiceAccountToken; a kubeconfig must name files that exist.';
    throw new EarshotError('kube-config', `Cannot read ${path}: ${why}. ${remedy}`, cause);
  }
}

/** A token becomes a header: anything but visible ASCII would be cut or refused on the way. */
export function checkToken(token: string, where: string): string {
  const trimmed = token.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new EarshotError('kube-config', `The token of ${where} is empty or holds characters that no token has.`);
  return trimmed;
}
