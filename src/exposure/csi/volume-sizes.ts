import { CsiError } from './errors.ts';
import type { CapacityRange } from './generated/csi.ts';

/** Maximum number of cached volumes: more than the provisioner processes at once, and repeated calls come only then. */
const LIMIT = 1_024;

/**
 * Sizes of recently created volumes. A listener volume has no size. Still, CSI requires that a second CreateVolume of the same
 * name with another size is refused (specification, CreateVolume, ALREADY_EXISTS).
 */
export class VolumeSizes {
  readonly #sizes = new Map<string, bigint>();

  /** The size to report. Throws csi-capacity or volume-exists. */
  sizeFor(name: string, range: CapacityRange | undefined): bigint {
    const required = range?.requiredBytes ?? 0n;
    const limit = range?.limitBytes ?? 0n;
    if (required < 0n || limit < 0n || (limit > 0n && limit < required)) {
      throw new CsiError('csi-capacity', `No size is at least ${required} and at most ${limit} bytes.`);
    }
    const known = this.#sizes.get(name);
    if (known !== undefined && (known < required || (limit > 0n && known > limit))) {
      throw new CsiError('volume-exists', `Volume ${JSON.stringify(name)} exists with ${known} bytes, which does not fit this request.`);
    }
    return known ?? required;
  }

  remember(name: string, size: bigint): void {
    this.#sizes.delete(name);
    this.#sizes.set(name, size);
    const [oldest] = this.#sizes.keys();
    if (this.#sizes.size > LIMIT && oldest !== undefined) this.#sizes.delete(oldest);
  }

  has(name: string): boolean {
    return this.#sizes.has(name);
  }

  forget(name: string): void {
    this.#sizes.delete(name);
  }
}
