import { layoutOf } from '../platform/linux/layout.ts';
import { directoryResources } from '../platform/linux/resources.ts';
import type { Resources } from '../platform/resources.ts';

/** Where the resources of a namespace are is decided here, for all commands. */
export function openResources(namespace: string): Resources {
  return directoryResources(layoutOf(namespace));
}
