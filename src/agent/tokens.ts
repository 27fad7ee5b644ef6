/** AccessTokens: each is redeemed once, and becomes a TLS bundle and a Link. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { API_VERSION } from '../api/skupper/names.ts';
import type { AccessToken, Site } from '../api/skupper/index.ts';
import { DirectoryPendingKeys } from '../trust/disk/pending-keys.ts';
import { parseToken } from '../trust/tokens/token.ts';
import { redeemToken, ServerBusyError } from '../trust/tokens/redeem.ts';
import { retryOf } from '../trust/tokens/retry.ts';
import { TrustError } from '../trust/errors.ts';
import { CertificateError } from '../x509/errors.ts';
import { writeBundle } from '../trust/disk/bundle-files.ts';
import type { Redeemed, Token } from '../trust/tokens/contract.ts';
import type { TokenFacts } from '../site/observe/trust-facts.ts';
import { nameOf } from '../site/resources.ts';
import { problemOf } from '../errors/problem.ts';
import type { Logger } from '../telemetry/log.ts';
import { emitYaml } from '../platform/linux/write-yaml.ts';
import { makeDirectory, readText, writeDurably } from '../files/durable.ts';
import type { Identity } from '../platform/linux/identity.ts';
import { resourceFileName, type NamespaceLayout } from '../platform/linux/layout.ts';

export interface Tokens extends Disposable {
  /** Starts redeeming what is new; the rest goes on by itself. */
  ensure(tokens: readonly AccessToken[], site: Site, identity: Identity): Promise<ReadonlyMap<string, TokenFacts>>;
}

export interface TokensOptions {
  readonly layout: NamespaceLayout;
  readonly log: Logger;
  /** A token was redeemed or failed. */
  readonly onChange: () => void;
}

interface Attempt {
  readonly mark: string;
  readonly since: number;
  facts: TokenFacts;
  failures: number;
  running: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

export function createTokens({ layout, log, onChange }: TokensOptions): Tokens {
  const attempts = new Map<string, Attempt>();
  const pending = new DirectoryPendingKeys(join(layout.internal.root, 'pending'));
  const end = new AbortController();
  let redeemed: Map<string, string> | undefined;
  const record = join(layout.internal.root, 'redeemed.json');

  async function run(name: string, attempt: Attempt, token: Token, site: Site, identity: Identity): Promise<void> {
    attempt.running = true;
    try {
      const key = await pending.keyFor(`token-${name}`);
      const won = await redeemToken(token, { siteName: nameOf(site), siteId: identity.id, siteKey: identity.key, key, signal: end.signal });
      await store(name, won, attempt.mark);
      await pending.drop(`token-${name}`);
      attempt.facts = { redeemed: true };
      log.info({ token: name, site: won.offer.siteName }, 'token redeemed');
    } catch (error) {
      if (end.signal.aborted) return;
      const code = error instanceof TrustError || error instanceof CertificateError ? error.code : undefined;
      const asked = error instanceof ServerBusyError ? error.asked : 0;
      attempt.failures += 1;
      const retry = retryOf({ code, failures: attempt.failures, since: performance.now() - attempt.since, asked }, Math.random());
      if (retry !== undefined) {
        attempt.timer = setTimeout(() => void run(name, attempt, token, site, identity), retry.after);
        attempt.timer.unref();
        if (retry.isQuiet) return;
      }
      const problem = problemOf(error);
      const retrying = retry !== undefined;
      attempt.facts = { redeemed: false, problem, retrying };
      log.warn({ token: name, code: problem.code, retrying }, `token not redeemed: ${problem.message}`);
    } finally {
      attempt.running = false;
    }
    onChange();
  }

  /** The bundle first, then the Link that needs it, then the record that the token is used: a crash between them costs another try with the same key. */
  async function store(name: string, { offer, linkCost, bundle }: Redeemed, mark: string): Promise<void> {
    await writeBundle(join(layout.internal.certs, name), bundle);
    const link = {
      apiVersion: API_VERSION,
      kind: 'Link',
      metadata: { name, annotations: { 'earshot/site-id': offer.siteId, 'earshot/site-name': offer.siteName } },
      spec: { endpoints: offer.endpoints, cost: linkCost, tlsCredentials: name },
    };
    await makeDirectory(layout.internal.links, 0o700);
    await writeDurably(join(layout.internal.links, resourceFileName('Link', name)), emitYaml(link), 0o600);
    redeemed?.set(name, mark);
    await writeDurably(record, JSON.stringify(Object.fromEntries(redeemed ?? [])), 0o600);
  }

  return {
    ensure: async (tokens, site, identity) => {
      redeemed ??= await readRecord(record);
      const names = new Set(tokens.map(nameOf));
      for (const [name, attempt] of attempts) {
        if (names.has(name)) continue;
        clearTimeout(attempt.timer);
        attempts.delete(name);
      }
      for (const resource of tokens) {
        const name = nameOf(resource);
        const mark = markOf(resource);
        const before = attempts.get(name);
        if (before?.mark === mark) continue;
        if (before?.running === true) continue;
        clearTimeout(before?.timer);
        const attempt: Attempt = {
          mark,
          since: performance.now(),
          facts: { redeemed: redeemed.get(name) === mark },
          failures: 0,
          running: false,
        };
        attempts.set(name, attempt);
        if (attempt.facts.redeemed) continue;
        try {
          void run(name, attempt, parseToken(resource, `AccessToken ${name}`), site, identity);
        } catch (error) {
          attempt.facts = { redeemed: false, problem: problemOf(error) };
        }
      }
      return new Map([...attempts].map(([name, { facts }]) => [name, facts]));
    },
    [Symbol.dispose]: () => {
      end.abort();
      for (const { timer } of attempts.values()) clearTimeout(timer);
    },
  };
}

/** Tells one token from another of its name, without keeping the code. */
function markOf({ spec }: AccessToken): string {
  return createHash('sha256')
    .update(JSON.stringify([spec.url, spec.code]))
    .digest('hex');
}

async function readRecord(path: string): Promise<Map<string, string>> {
  const text = await readText(path, { bytes: 4 * 1024 * 1024 });
  if (text === undefined) return new Map();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return new Map();
    return new Map(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch {
    // Only hints: at worst a used token is tried again, and refused.
    return new Map();
  }
}
