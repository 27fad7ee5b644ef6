import { readFile } from 'node:fs/promises';
import { EarshotError } from '../../errors/earshot-error.ts';

/** Settings of a connection to an API server at one point in time. */
export interface Connection {
  /** http(s)://host[:port][/prefix] */
  readonly server: string;
  /** CA certificates in PEM. Default: the system's CAs. */
  readonly ca?: string;
  /** Client certificate and its key in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Name in the server's certificate, if it differs from the URL's host. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
  readonly token?: string;
}

/** Source of a connection's settings. They are read again while the client runs, because tokens and CAs rotate. */
export interface ConfigSource {
  /** Name in messages, such as a file's path. */
  readonly name: string;
  /** Namespace of the source, if any: a pod's own, or the context's. */
  readonly namespace: string | undefined;
  /** Name of the kubeconfig context. */
  readonly context?: string;
  load(): Promise<Connection>;
}

/** A source of settings that never change. */
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

/** Checks a token, which is sent in a header: characters other than visible ASCII would be cut or refused. */
export function checkToken(token: string, where: string): string {
  const trimmed = token.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new EarshotError('kube-config', `The token of ${where} is empty or has invalid characters.`);
  return trimmed;
}
