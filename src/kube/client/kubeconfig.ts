import { checkToken, readSetting } from './connection.ts';
import type { ConfigSource, Connection } from './connection.ts';
import { ExecCredentials, type Credentials } from './exec-credentials.ts';
import { besideEntry, optionalText, readKubeconfig, type Entry, type Kubeconfig } from './kubeconfig-files.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { isRecord } from '../../text/is-record.ts';

/**
 * One context of kubeconfig files: the named one, else the current one. Certificates, keys and tokens may be in the files, in
 * other files that they name, or come from an exec plugin.
 * @throws EarshotError `kube-config`
 */
export async function kubeconfigSource(paths: readonly string[], contextName?: string): Promise<ConfigSource> {
  const { name, entry } = contextOf(await readKubeconfig(paths), contextName);
  const plugin = new ExecCredentials();
  return {
    name: paths.join(':'),
    context: name,
    namespace: optionalText(entry.fields, 'namespace', entry.path),
    load: async () => connectionOf(await readKubeconfig(paths), contextName, plugin),
  };
}

function contextOf(config: Kubeconfig, contextName: string | undefined): { readonly name: string; readonly entry: Entry } {
  const name = contextName ?? config.currentContext;
  if (name === undefined)
    throw new EarshotError('kube-config', `${config.name} names no current-context; set one with \`kubectl config use-context NAME\`.`);
  return { name, entry: find(config, 'contexts', 'context', name) };
}

async function connectionOf(config: Kubeconfig, contextName: string | undefined, plugin: ExecCredentials): Promise<Connection> {
  const { entry: context } = contextOf(config, contextName);
  const cluster = find(config, 'clusters', 'cluster', optionalText(context.fields, 'cluster', context.path));
  const userName = optionalText(context.fields, 'user', context.path);
  const user = userName === undefined ? { fields: {}, path: context.path } : find(config, 'users', 'user', userName);
  refuseUnsupported(user, cluster);

  const server = optionalText(cluster.fields, 'server', cluster.path);
  if (server === undefined || !/^https?:\/\//.test(server) || !URL.canParse(server)) {
    const is = JSON.stringify(server);
    throw new EarshotError('kube-config', `${cluster.path}: the cluster's server must be an http or https URL, not ${is}.`);
  }
  const ca = await pem(cluster, 'certificate-authority');
  const serverName = optionalText(cluster.fields, 'tls-server-name', cluster.path);
  const { exec } = user.fields;
  const to = { server, ...(ca === undefined ? {} : { ca }), ...(serverName === undefined ? {} : { serverName }) };
  const own = await credentialsIn(user);
  // As in kubectl, static credentials take precedence over a plugin.
  const isAsked = isRecord(exec) && own.token === undefined && own.cert === undefined;
  return {
    ...to,
    ...(isAsked ? await plugin.get(exec, user, to) : own),
    ...(cluster.fields['insecure-skip-tls-verify'] === true ? { insecureSkipVerify: true } : {}),
  };
}

async function credentialsIn(user: Entry): Promise<Credentials> {
  const cert = await pem(user, 'client-certificate');
  const key = await pem(user, 'client-key');
  if ((cert === undefined) !== (key === undefined)) {
    throw new EarshotError('kube-config', `${user.path}: client-certificate and client-key must both be set; one is missing.`);
  }
  const token = await tokenOf(user);
  return { ...(cert === undefined || key === undefined ? {} : { cert, key }), ...(token === undefined ? {} : { token }) };
}

function refuseUnsupported(user: Entry, cluster: Entry): void {
  const refused = [
    ...['auth-provider', 'username', 'as', 'as-uid', 'as-groups'].filter((field) => user.fields[field] !== undefined),
    ...['proxy-url'].filter((field) => cluster.fields[field] !== undefined),
  ];
  if (refused.length === 0) return;
  throw new EarshotError(
    'kube-config',
    `${user.path} uses ${refused.join(', ')}, which Earshot does not support: use a client certificate, a token, a tokenFile or exec ` +
      '(for instance the token of a service account: `kubectl create token NAME`).',
  );
}

async function tokenOf(user: Entry): Promise<string | undefined> {
  // As in kubectl, tokenFile takes precedence over token.
  const file = optionalText(user.fields, 'tokenFile', user.path);
  if (file !== undefined) {
    const absolute = besideEntry(user, file);
    return checkToken(await readSetting(absolute), absolute);
  }
  const token = optionalText(user.fields, 'token', user.path);
  return token === undefined ? undefined : checkToken(token, user.path);
}

/** `FIELD-data` is base64 and takes precedence over `FIELD`, a path relative to the kubeconfig. */
async function pem(entry: Entry, field: string): Promise<string | undefined> {
  const data = optionalText(entry.fields, `${field}-data`, entry.path);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = optionalText(entry.fields, field, entry.path);
  return file === undefined ? undefined : readSetting(besideEntry(entry, file));
}

function find(config: Kubeconfig, list: 'contexts' | 'clusters' | 'users', inner: string, name: string | undefined): Entry {
  const found = name === undefined ? undefined : config[list].get(name);
  if (found !== undefined) return found;
  throw new EarshotError('kube-config', `${config.name}: ${list} has no entry ${JSON.stringify(name)} with a ${inner}.`);
}
