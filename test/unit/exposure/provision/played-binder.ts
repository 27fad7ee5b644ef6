import type { PersistentVolume, PersistentVolumeClaim } from '../../../../src/kube/objects.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../../src/kube/resource.ts';
import type { PlayedApi } from '../support/played-api.ts';
import { COMPLETED, PROVISIONER, SELECTED } from './objects.ts';

type Objects = Pick<PlayedApi, 'read' | 'put'>;

/** A write that waits for its turn; false where what it was made from has changed since. */
type Write = () => boolean;

/**
 * The persistent-volume-binder of kube-controller-manager as far as it minds claims and volumes of ours (pv_controller.go): two workers,
 * each with a store that only it fills, and writes that come later than the look that they are made from. The test says which of them
 * goes on, one step at a time.
 */
export class PlayedBinder {
  readonly #api: Objects;
  readonly #volumes = new Map<string, PersistentVolume>();
  readonly #claims = new Map<string, PersistentVolumeClaim>();
  readonly #running = { claims: idle(), volumes: idle() };
  readonly #queues = { claims: new Set<string>(), volumes: new Set<string>() };
  /** Errors that users would have seen of a claim that was bound too early. */
  readonly mishaps: string[] = [];

  constructor(api: Objects) {
    this.#api = api;
  }

  /** Called for each change that a watch reports. */
  notice(keys: { readonly claims: readonly string[]; readonly volumes: readonly string[] }): void {
    for (const key of keys.claims) this.#queues.claims.add(key);
    for (const key of keys.volumes) this.#queues.volumes.add(key);
  }

  /** One write, or one look that comes to a write or to an end. False where that worker has nothing to do. */
  step(worker: 'claims' | 'volumes'): boolean {
    if (this.#running[worker].next().done !== true) return true;
    const [key] = this.#queues[worker];
    if (key === undefined) return false;
    this.#queues[worker].delete(key);
    this.#running[worker] = worker === 'claims' ? this.#syncClaim(key) : this.#syncVolume(key);
    return true;
  }

  *#syncVolume(key: string): Steps {
    const volume = this.#api.read(persistentVolumes, key);
    if (volume === undefined) return void this.#volumes.delete(key);
    this.#volumes.set(key, volume);
    const { namespace, name, uid } = volume.spec?.claimRef ?? {};
    const claimKey = `${namespace}/${name}`;
    const stored = this.#claims.get(claimKey);
    const claim = stored?.metadata.uid === uid ? stored : this.#api.read(persistentVolumeClaims, claimKey);
    if (claim?.metadata.uid !== uid) yield* this.#write(() => this.#phase(key, 'Released'), key);
    else if ((claim?.spec?.volumeName ?? '') === '') this.#queues.claims.add(claimKey);
    else if (claim?.spec?.volumeName === key) yield* this.#write(() => this.#phase(key, 'Bound'), key);
  }

  *#syncClaim(key: string): Steps {
    const claim = this.#api.read(persistentVolumeClaims, key);
    if (claim === undefined) {
      const gone = this.#claims.get(key)?.spec?.volumeName;
      this.#claims.delete(key);
      if (gone !== undefined) this.#queues.volumes.add(gone);
      return;
    }
    this.#claims.set(key, claim);
    const { volumeName = '' } = claim.spec ?? {};
    const annotations = claim.metadata.annotations ?? {};
    const ours = [...this.#volumes.values()].find(({ spec }) => spec?.claimRef?.uid === claim.metadata.uid);
    const volume = volumeName === '' ? ours : this.#volumes.get(volumeName);
    if (volume !== undefined) yield* this.#bind(key, claim, volume);
    else if (Object.hasOwn(annotations, COMPLETED)) this.mishaps.push(`${key} is marked as having lost its volume`);
    else if (volumeName !== '' && claim.status?.phase !== 'Pending') this.mishaps.push(`${key} is set back to Pending`);
    else if (volumeName === '' && Object.hasOwn(annotations, SELECTED) && !Object.hasOwn(annotations, PROVISIONER)) {
      yield* this.#write(() => this.#change(claim, { annotations: { [PROVISIONER]: 'listeners.stackable.tech' } }), key, 'claims');
    }
  }

  *#bind(key: string, claim: PersistentVolumeClaim, volume: PersistentVolume): Steps {
    const name = volume.metadata.name ?? '';
    if (volume.status?.phase !== 'Bound' && !(yield* this.#write(() => this.#phase(name, 'Bound'), key, 'claims'))) return;
    let current = claim;
    if ((claim.spec?.volumeName ?? '') === '' || !Object.hasOwn(claim.metadata.annotations ?? {}, COMPLETED)) {
      const change = { annotations: { [COMPLETED]: 'yes' }, volumeName: name };
      if (!(yield* this.#write(() => this.#change(current, change), key, 'claims'))) return;
      current = this.#api.read(persistentVolumeClaims, key) ?? current;
    }
    if (current.status?.phase !== 'Bound') yield* this.#write(() => this.#change(current, { phase: 'Bound' }), key, 'claims');
  }

  /** Waits for its turn, as behind the limit of requests; what has failed is looked at again. */
  *#write(write: Write, key: string, worker: 'claims' | 'volumes' = 'volumes'): Generator<undefined, boolean> {
    yield undefined;
    const done = write();
    if (!done) this.#queues[worker].add(key);
    return done;
  }

  #phase(name: string, phase: string): boolean {
    const known = this.#volumes.get(name);
    const volume = this.#api.read(persistentVolumes, name);
    if (known === undefined || volume?.metadata.resourceVersion !== known.metadata.resourceVersion) return volume === undefined;
    if (volume?.status?.phase !== phase && volume !== undefined) {
      this.#volumes.set(name, this.#api.put(persistentVolumes, { ...volume, status: { phase } }));
    }
    return true;
  }

  #change(
    seen: PersistentVolumeClaim,
    { annotations = {}, volumeName, phase }: { annotations?: Readonly<Record<string, string>>; volumeName?: string; phase?: string },
  ): boolean {
    const key = `${seen.metadata.namespace}/${seen.metadata.name}`;
    const claim = this.#api.read(persistentVolumeClaims, key);
    if (claim?.metadata.resourceVersion !== seen.metadata.resourceVersion || claim === undefined) return claim === undefined;
    this.#claims.set(
      key,
      this.#api.put(persistentVolumeClaims, {
        ...claim,
        metadata: { ...claim.metadata, annotations: { ...claim.metadata.annotations, ...annotations } },
        spec: { ...claim.spec, ...(volumeName === undefined ? {} : { volumeName }) },
        status: { ...claim.status, ...(phase === undefined ? {} : { phase }) },
      }),
    );
    return true;
  }
}

type Steps = Generator<undefined, void>;

function* idle(): Steps {}
