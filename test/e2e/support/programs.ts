/** Servers and clients that are not ours, from Debian's packages. */
import { eventually, type Cluster } from '../../harness/index.ts';
import { container, pod, type Manifest } from './manifests.ts';
import type { Namespace } from './namespace.ts';

/** An image with curl, OpenSSL and nginx. */
export function webPrograms(cluster: Cluster): Promise<string> {
  return cluster.loadDebianImage({
    name: 'web-programs',
    packages: ['curl', 'openssl', 'nginx'],
    programs: ['/usr/bin/curl', '/usr/bin/openssl', '/usr/sbin/nginx'],
    command: ['sh'],
  });
}

/** Secrets of a namespace as a pod sees them, each at `/NAME`. */
export function mounted(secrets: readonly string[]): { readonly volumes: readonly object[]; readonly volumeMounts: readonly object[] } {
  return {
    volumes: secrets.map((name) => ({ name, secret: { secretName: name } })),
    volumeMounts: secrets.map((name) => ({ name, mountPath: `/${name}` })),
  };
}

/**
 * A pod that asks for each of these URLs over and over, each time over a new connection, in a container of the URL's name.
 * @param urls arguments of curl: options, then the URL
 * @param secrets see `mounted`
 */
export function curls(
  name: string,
  image: string,
  urls: Readonly<Record<string, readonly string[]>>,
  secrets: readonly string[] = [],
): Manifest {
  const { volumes, volumeMounts } = mounted(secrets);
  const containers = Object.entries(urls).map(([of, args]) => {
    const command = ['curl', ...ALWAYS, ...args.slice(0, -1), `${args.at(-1)}?[1-9999999]`];
    return container(of, { image, command, container: { volumeMounts } });
  });
  return pod(name, { spec: { containers, volumes } });
}

const TOLD = String.raw`\n<%{http_code} %{exitcode} %{errormsg}>\n`;
const ALWAYS = ['--silent', '--no-buffer', '--rate', '15/s', '--max-time', '5', '--header', 'Connection: close', '--write-out', TOLD];

/** A request that has ended. */
interface Answer {
  readonly text: string;
  /** Error of curl; empty for an answer with status 200. */
  readonly failure: string;
}

/** The answers that one container of such a pod received: all, or from some point on. */
export class Asked {
  readonly #namespace: Namespace;
  readonly #pod: string;
  readonly #container: string;
  #from = 0;

  constructor(namespace: Namespace, podName: string, containerName: string) {
    this.#namespace = namespace;
    this.#pod = podName;
    this.#container = containerName;
  }

  /** Discards the answers so far. */
  async forget(): Promise<void> {
    this.#from = (await this.#all()).length;
  }

  async failures(): Promise<readonly string[]> {
    return (await this.#all()).slice(this.#from).flatMap(({ failure }) => (failure === '' ? [] : [failure]));
  }

  /** Waits for an answer that begins with this text, among those that come from now on. */
  async until(text: string): Promise<void> {
    await this.#next(`is answered ${text}`, (answers) => answers.some((answer) => answer.failure === '' && answer.text.startsWith(text)));
  }

  /** Waits until so many in a row are answered with one of these texts. */
  async untilOnly(texts: readonly string[], count: number): Promise<readonly string[]> {
    const answers = await this.#next(
      `is answered ${texts.join(' and ')} ${count} times`,
      (all) => all.length >= count && all.slice(-count).every(({ text, failure }) => failure === '' && texts.includes(text)),
    );
    return answers.slice(-count).map(({ text }) => text);
  }

  /** Waits for one that is not answered, among those that end from now on. */
  async untilFailure(): Promise<void> {
    await this.#next('is not answered', (answers) => answers.some(({ failure }) => failure !== ''));
  }

  async #next(what: string, isWanted: (answers: readonly Answer[]) => boolean): Promise<readonly Answer[]> {
    const before = (await this.#all()).length;
    const look = async (): Promise<readonly Answer[]> => {
      const answers = (await this.#all()).slice(before);
      if (isWanted(answers)) return answers;
      throw new Error(`${answers.length} answers, at last ${JSON.stringify(answers.slice(-3))}`);
    };
    return eventually(`who asks for ${this.#container} ${what}`, look, { timeoutMs: 120_000, everyMs: 300 });
  }

  async #all(): Promise<readonly Answer[]> {
    const { cluster, name } = this.#namespace;
    const printed = await cluster.kubectl(['logs', '--namespace', name, this.#pod, '--container', this.#container]);
    return [...printed.matchAll(/([^<]*)\n<(\d+) (\d+) (.*)>\n/g)].map(([, text = '', status, code, said]) => ({
      text: text.trim(),
      failure: status === '200' && code === '0' ? '' : `status ${status}: ${said}`,
    }));
  }
}
