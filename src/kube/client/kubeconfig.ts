import { dirname, resolve } from 'node:path';

import { checkToken, readSetting } from './connection.ts';
import type { ConfigSource, Connection } from './connection.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseYaml } from '../../text/yaml.ts';

/**
 * The current context of a kubeconfig file (client.config v1). Certificates, keys and tokens may stand in it or in
 * files that it names; programs that make credentials (`exec`, `auth-provider`) are refused.
 *
 * @throws EarshotError `kube-config`
 */
export async function kubeconfigSource(path: string): Promise<ConfigSource> {
  const context = currentContext(await readDocument(path), path);
  return {
    name: path,
    namespace: optionalText(context, 'namespace', path),
    load: async () => connectionOf(await readDocument(path), path),
  };
}

type Fields = Readonly<Record<string, unknown>>;

async function readDocument(path: string): Promise<Fields> {
  const text = await readSetting(path);
  const [parsed, ...more] = parse(text, path);
  if (!isRecord(parsed) || more.length > 0) throw new EarshotError('kube-config', `${path} is not a kubeconfig: it must hold one mapping.`);
  return parsed;
}

function parse(text: string, path: string): readonly unknown[] {
  try {
    return parseYaml(text);
  } catch (cause) {
    throw new EarshotError('kube-config', `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`, cause);
  }
}

function currentContext(document: Fields, path: string): Fields {
  const name = optionalText(document, 'current-context', path);
  if (name === undefined)
    throw new EarshotError('kube-config', `${path} names no current-context; set one with \`kubectl config use-context NAME\`.`);
  return entry(document, 'contexts', 'context', name, path);
}

async function connectionOf(document: Fields, path: string): Promise<Connection> {
  const context = currentContext(document, path);
  const cluster = entry(document, 'clusters', 'cluster', optionalText(context, 'cluster', path), path);
  const userName = optionalText(context, 'user', path);
  const user: Fields = userName === undefined ? {} : entry(document, 'users', 'user', userName, path);
  refuseUnsupported(user, cluster, path);

  const server = optionalText(cluster, 'server', path);
  if (server === undefined || !/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw new EarshotError('kube-config', `${path}: the cluster's server must be an http or https URL, and is ${JSON.stringify(server)}.`);
  }
  const ca = await pem(cluster, 'certificate-authority', path);
  const cert = await pem(user, 'client-certificate', path);
  const key = await pem(user, 'client-key', path);
  if ((cert === undefined) !== (key === undefined)) {
    throw new EarshotError('kube-config', `${path}: client-certificate and client-key go together, and one is missing.`);
  }
  const token = await tokenOf(user, path);
  const serverName = optionalText(cluster, 'tls-server-name', path);
  return {
    server,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(token === undefined ? {} : { token }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecureSkipVerify: true } : {}),
  };
}

function refuseUnsupported(user: Fields, cluster: Fields, path: string): void {
  const refused = [
    ...['exec', 'auth-provider', 'username', 'as', 'as-uid', 'as-groups'].filter((field) => user[field] !== undefined),
    ...['proxy-url'].filter((field) => cluster[field] !== undefined),
  ];
  if (refused.length === 0) return;
  throw new EarshotError(
    'kube-config',
    `${path} uses ${refused.join(', ')}, which Earshot does not support: use a client certificate, a token or a tokenFile ` +
      '(for instance of a service account: `kubectl create token NAME`).',
  );
}

async function tokenOf(user: Fields, path: string): Promise<string | undefined> {
  // tokenFile wins over token, as in kubectl.
  const file = optionalText(user, 'tokenFile', path);
  if (file !== undefined) {
    const absolute = resolve(dirname(path), file);
    return checkToken(await readSetting(absolute), absolute);
  }
  const token = optionalText(user, 'token', path);
  return token === undefined ? undefined : checkToken(token, path);
}

/** `FIELD-data` holds base64 and wins over `FIELD`, a path relative to the kubeconfig. */
async function pem(fields: Fields, field: string, path: string): Promise<string | undefined> {
  const data = optionalText(fields, `${field}-data`, path);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = optionalText(fields, field, path);
  return file === undefined ? undefined : readSetting(resolve(dirname(path), file));
}

function entry(document: Fields, list: string, inner: string, name: string | undefined, path: string): Fields {
  const entries = document[list];
  for (const candidate of Array.isArray(entries) ? entries : []) {
    if (isRecord(candidate) && candidate['name'] === name && isRecord(candidate[inner])) return candidate[inner];
  }
  throw new EarshotError('kube-config', `${path}: ${list} holds no entry ${JSON.stringify(name)} with a ${inner}.`);
}

function optionalText(fields: Fields, field: string, path: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new EarshotError('kube-config', `${path}: ${field} must be a string.`);
  return value;
}
