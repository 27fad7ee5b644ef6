import type { NamespaceView } from '../namespace-view.ts';
import { noWishes, type Wishes } from '../wishes.ts';

/** The Services of Listeners and MultiKeyListeners. */
export function serviceObjects(_view: NamespaceView): Wishes {
  return noWishes;
}
