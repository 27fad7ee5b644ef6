/** Creates the Secrets with a random password that NetworkObservers ask for. A Secret that exists is kept as it is. */
import { randomBytes } from 'node:crypto';
import type { KubeClient } from '../../kube/contract.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import type { Secret } from '../../kube/objects.ts';
import { secrets } from '../../kube/resource.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf, type ResourceKey } from '../../site/resources.ts';
import { refusedWrite } from '../apply-desired.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { PASSWORD_KEY } from './observer-names.ts';
import { passwordSecret } from './observer-objects.ts';
import { readObserverSpec } from './observer-spec.ts';
import { listObservers, ownersOfConsoles } from './observers.ts';

/** 144 bits. */
const PASSWORD_BYTES = 18;

export interface CreateOptions {
  readonly client: Pick<KubeClient, 'create'>;
  readonly cache: { wrote(secret: Secret): void };
  readonly signal: AbortSignal;
}

export interface CreatedPasswords {
  readonly problems: readonly ResourceProblem[];
  /** First error that a retry may resolve, if any. */
  readonly failed: unknown;
}

export async function createPasswordSecrets(view: NamespaceView, { client, cache, signal }: CreateOptions): Promise<CreatedPasswords> {
  const problems: ResourceProblem[] = [];
  let failed: unknown;
  for (const observer of ownersOfConsoles(listObservers(view)).values()) {
    const { users, refused } = readObserverSpec(observer);
    if (!users.isCreated || refused.length > 0 || view.find(secrets, users.secret) !== undefined) continue;
    const secret = passwordSecret(observer, users.secret, view.namespace, randomBytes(PASSWORD_BYTES).toString('base64url'));
    try {
      cache.wrote(await client.create(secrets, secret, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      // A cached Secret has users. Once this one has some, the watch delivers it.
      if (isAlreadyExists(error)) problems.push(withoutUsers(keyOf(observer), users.secret));
      else {
        failed ??= error;
        problems.push(refusedWrite(keyOf(observer), `Secret ${users.secret}`, error));
      }
    }
  }
  return { problems, failed };
}

function withoutUsers(resource: ResourceKey, secret: string): ResourceProblem {
  const message = `Secret ${secret} exists and does not have the key ${PASSWORD_KEY}. Add users there, or delete the Secret.`;
  return { resource, severity: 'error', code: 'object-foreign', message };
}
