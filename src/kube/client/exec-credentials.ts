/** Credentials from an exec plugin of a kubeconfig (client.authentication.k8s.io). */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { checkToken } from './connection.ts';
import type { Connection } from './connection.ts';
import { besideEntry, optionalText, type Entry, type Fields } from './kubeconfig-files.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';

export type Credentials = Pick<Connection, 'cert' | 'key' | 'token'>;

/** Milliseconds for which credentials are cached. */
const SAME_ANSWER = 5_000;
/** Timeout in milliseconds; the user may have to log in with a browser. */
const PATIENCE = 120_000;
const MOST_BYTES = 1_048_576;
const VERSIONS: readonly unknown[] = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

export class ExecCredentials {
  #answer: Credentials = {};
  #askedAt = Number.NEGATIVE_INFINITY;

  /** @throws EarshotError `kube-config` */
  async get(exec: Fields, user: Entry, cluster: Pick<Connection, 'server' | 'ca' | 'serverName'>): Promise<Credentials> {
    if (performance.now() - this.#askedAt < SAME_ANSWER) return this.#answer;
    const command = optionalText(exec, 'command', user.path);
    const { apiVersion } = exec;
    if (command === undefined || !VERSIONS.includes(apiVersion)) {
      throw new EarshotError('kube-config', `${user.path}: exec needs a command and one of the apiVersions ${VERSIONS.join(', ')}.`);
    }
    const info = {
      apiVersion,
      kind: 'ExecCredential',
      spec: { interactive: false, ...(exec['provideClusterInfo'] === true ? { cluster: clusterInfo(cluster) } : {}) },
    };
    this.#answer = credentialsIn(await outputOf(command, exec, user, JSON.stringify(info)), command);
    this.#askedAt = performance.now();
    return this.#answer;
  }
}

function clusterInfo({ server, ca, serverName }: Pick<Connection, 'server' | 'ca' | 'serverName'>): Fields {
  return {
    server,
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
    config: null,
  };
}

async function outputOf(command: string, exec: Fields, user: Entry, info: string): Promise<string> {
  const args = Array.isArray(exec['args']) ? exec['args'].map(String) : [];
  const variables = (Array.isArray(exec['env']) ? exec['env'] : [])
    .filter(isRecord)
    .map(({ name, value }) => [String(name), String(value)]);
  // A name without a slash is looked up in PATH.
  const file = command.includes('/') ? besideEntry(user, command) : command;
  try {
    const running = promisify(execFile)(file, args, {
      env: { ...process.env, ...Object.fromEntries(variables), KUBERNETES_EXEC_INFO: info },
      timeout: PATIENCE,
      maxBuffer: MOST_BYTES,
    });
    // The plugin may print where to log in.
    running.child.stderr?.pipe(process.stderr, { end: false });
    return (await running).stdout;
  } catch (cause) {
    const hint = optionalText(exec, 'installHint', user.path);
    const code: unknown = isRecord(cause) ? cause['code'] : undefined;
    const why = typeof code === 'number' ? `it exited with ${code}` : code === 'ENOENT' ? 'the program does not exist' : 'it failed';
    const advice = hint === undefined ? '' : ` ${printable(hint, 300)}`;
    throw new EarshotError('kube-config', `${user.path}: ${command} gave no credentials: ${why}.${advice}`, cause);
  }
}

/** Messages must not contain any of the response, which is secret. */
function credentialsIn(output: string, command: string): Credentials {
  const status = statusIn(output);
  const { token, clientCertificateData: cert, clientKeyData: key } = status ?? {};
  const pair = typeof cert === 'string' && typeof key === 'string' ? { cert, key } : {};
  const all = { ...pair, ...(typeof token === 'string' ? { token: checkToken(token, command) } : {}) };
  if (Object.keys(all).length > 0) return all;
  throw new EarshotError(
    'kube-config',
    `${command} printed neither a token nor a certificate with its key; it must print an ExecCredential.`,
  );
}

function statusIn(output: string): Fields | undefined {
  try {
    const answer: unknown = JSON.parse(output);
    return isRecord(answer) && isRecord(answer['status']) ? answer['status'] : undefined;
  } catch {
    return undefined;
  }
}
