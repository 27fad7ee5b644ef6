import { createHash } from 'node:crypto';
import type { Buffer } from 'node:buffer';
import type { Signing } from '../../agent/ports.ts';
import { RENEWALS, SITE_SERVER } from '../../api/skupper/cluster-names.ts';
import { EarlyRenewalError, type IssuedCertificate, type Revocations } from '../../identity/issued.ts';
import type { KubeClient, StartInformer } from '../../kube/contract.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { configMaps } from '../../kube/resource.ts';
import { cacheUntil } from '../../kube/watch/cache-until.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { TrustError } from '../../trust/errors.ts';
import { revocationsIn, sequenceIn } from './router-config-map.ts';
import type { RouterSecretBundles } from './router-secret-bundles.ts';

type Elsewhere = Extract<Signing, { readonly kind: 'elsewhere' }>;

export interface ControllerSigningOptions {
  readonly client: KubeClient;
  readonly start: StartInformer;
  readonly namespace: string;
  /** Returns the ConfigMap from the site's controller to its routers. */
  readonly configMap: () => ConfigMap | undefined;
  readonly bundles: Pick<RouterSecretBundles, 'get'>;
  /** Milliseconds within which the controller must answer. */
  readonly patience?: number;
}

const PATIENCE = 20_000;
/** Maximum number of requests that wait for the controller, since all are in one ConfigMap. */
const MOST_WAITING = 16;

/**
 * Lets the site's controller sign. It has the keys of the authorities and is not exposed to other sites. Requests and answers are entries
 * of a ConfigMap; both are removed once the answer is read.
 */
export class ControllerSigning implements Elsewhere {
  readonly kind = 'elsewhere';
  readonly #options: ControllerSigningOptions;
  /** IDs of sites that wait for an answer. */
  readonly #waiting = new Set<string>();
  #revoked: { readonly from: ConfigMap; readonly revoked: Revocations; readonly sequence: number | undefined } | undefined;

  constructor(options: ControllerSigningOptions) {
    this.#options = options;
  }

  /** Returns the last known revocations even if the ConfigMap is missing or damaged, so that this never lifts a revocation. */
  async revocations(): Promise<Revocations> {
    const configMap = this.#options.configMap();
    if (this.#revoked === undefined && configMap === undefined) {
      throw new EarshotError('state-unavailable', "the list of revoked sites is missing: the site's controller has not written it yet");
    }
    if (configMap !== undefined && this.#revoked?.from !== configMap) this.#revoked = { from: configMap, ...this.#read(configMap) };
    return this.#revoked?.revoked ?? { sites: [], serials: [] };
  }

  async siteAuthority(): Promise<string | undefined> {
    return (await this.#options.bundles.get(SITE_SERVER))?.ca;
  }

  async renew(
    { certificate, siteId }: { readonly certificate: Buffer; readonly siteId: string },
    request: string,
  ): Promise<IssuedCertificate> {
    if (this.#waiting.has(siteId) || this.#waiting.size >= MOST_WAITING) throw busy();
    this.#waiting.add(siteId);
    const entry = createHash('sha256').update(request).digest('hex').slice(0, 32);
    const question = JSON.stringify({ certificate: certificate.toString('base64'), siteId, request });
    try {
      await this.#put({ [entry]: question });
      return answerIn(await this.#answerTo(entry));
    } finally {
      this.#waiting.delete(siteId);
      // Leftover entries are removed after the next identical request.
      await this.#put({ [entry]: null, [`${entry}.answer`]: null }).catch(() => undefined);
    }
  }

  /** An older copy of the list, or a missing one, never lifts a revocation: the controller writes the newest list again. */
  #read(configMap: ConfigMap): { readonly revoked: Revocations; readonly sequence: number | undefined } {
    const before = this.#revoked;
    const sequence = sequenceIn(configMap);
    if (before?.sequence !== undefined && sequence !== undefined && sequence < before.sequence) return before;
    try {
      return { revoked: revocationsIn(configMap), sequence };
    } catch (error) {
      if (before === undefined) throw error;
      return before;
    }
  }

  async #answerTo(entry: string): Promise<string> {
    const { client, start, namespace, patience = PATIENCE } = this.#options;
    const signal = AbortSignal.timeout(patience);
    const end = new AbortController();
    try {
      const cache = start<ConfigMap>(client, configMaps, {
        namespace,
        fieldSelector: `metadata.name=${RENEWALS}`,
        signal: AbortSignal.any([signal, end.signal]),
        // The watch retries until the timeout.
        onProblem: () => undefined,
      });
      return await cacheUntil(cache, (seen) => seen.get(`${namespace}/${RENEWALS}`)?.data?.[`${entry}.answer`], signal);
    } catch (error) {
      throw signal.aborted ? busy() : error;
    } finally {
      end.abort();
    }
  }

  async #put(data: Readonly<Record<string, string | null>>): Promise<void> {
    const { client, namespace } = this.#options;
    await client.patch(configMaps, { namespace, name: RENEWALS }, { data }, { type: 'merge' });
  }
}

function answerIn(text: string): IssuedCertificate {
  const answer: unknown = JSON.parse(text);
  if (isRecord(answer) && typeof answer['cert'] === 'string' && typeof answer['ca'] === 'string') {
    return { cert: answer['cert'], ca: answer['ca'] };
  }
  const { refused, retryAfter } = isRecord(answer) ? answer : {};
  const words = typeof refused === 'string' ? printable(refused, 500) : 'the answer of the controller is invalid';
  if (typeof retryAfter === 'number' && retryAfter > 0) throw new EarlyRenewalError(words, retryAfter);
  throw new TrustError('server-failed', words);
}

function busy(): TrustError {
  return new TrustError('server-busy', 'the site cannot renew certificates at the moment: try again later');
}
