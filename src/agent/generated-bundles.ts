import type { SiteResources } from '../site/resources.ts';
import type { DesiredBundle } from '../site/plan/certificates.ts';
import { nameOf } from '../site/resources.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import type { GeneratedBundles } from './ports.ts';

/**
 * Removes bundles that the site has issued because a resource named them, once no resource does or the user has given its own. Their names
 * are stored before the bundles are, so that no other bundle is ever removed.
 */
export class GeneratedBundleReconciler {
  readonly #store: GeneratedBundles;
  readonly #log: Logger;
  #names: ReadonlySet<string> | undefined;

  constructor(store: GeneratedBundles, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Notes the names of bundles before they are issued. */
  async note(desired: readonly DesiredBundle[]): Promise<void> {
    const names = await this.names();
    const added = desired.filter(({ isGenerated, name }) => isGenerated === true && !names.has(name));
    if (added.length > 0) await this.#set(names.union(new Set(added.map(({ name }) => name))));
  }

  /** @param wanted bundles that the site issues now */
  async removeOthers(desired: readonly DesiredBundle[], { Link, Certificate }: SiteResources): Promise<void> {
    const names = await this.names();
    const kept = new Set(desired.filter(({ isGenerated }) => isGenerated === true).map(({ name }) => name));
    const obsolete = names.difference(kept);
    if (obsolete.size === 0) return;
    // Such a name belongs to another kind of bundle by now.
    const passedOn = new Set([
      ...Link.flatMap(({ spec }) => spec.tlsCredentials ?? []),
      ...Certificate.map(nameOf),
      ...desired.map(({ name }) => name),
    ]);
    const removed = new Set<string>();
    for (const name of obsolete) {
      try {
        if (!passedOn.has(name)) {
          await this.#store.remove(name);
          this.#log.info({ bundle: name }, 'generated bundle removed');
        }
        removed.add(name);
      } catch (error) {
        this.#log.warn({ bundle: name, error }, `a generated bundle cannot be removed: ${messageOf(error)}`);
      }
    }
    if (removed.size > 0) await this.#set(names.difference(removed));
  }

  async names(): Promise<ReadonlySet<string>> {
    return (this.#names ??= await this.#store.names());
  }

  async #set(names: ReadonlySet<string>): Promise<void> {
    await this.#store.setNames(names);
    this.#names = names;
  }
}
