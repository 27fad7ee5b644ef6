import { join } from 'node:path';
import type { Clock } from '../../../src/trust/contract.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { openGrantStore } from '../../../src/trust/disk/grant-store.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { DirectoryPendingKeys } from '../../../src/trust/disk/pending-keys.ts';
import { MemoryBundles, MemoryGrantStore, MemoryLedger, MemoryPendingKeys } from './support/memory-stores.ts';
import { storeContract, type Stores } from './stores-contract.ts';
import { makePlace, type Place } from './support/place.ts';

const places = new WeakMap<Stores, Place>();

async function onDisk(place: Place, clock: Clock): Promise<Stores> {
  const ledger = await openLedger(place.path, { clock });
  const grants = await openGrantStore(join(place.path, 'grants'), { ledger, clock });
  const stores: Stores = {
    bundles: new DirectoryBundles(join(place.path, 'certs')),
    ledger,
    grants,
    pending: new DirectoryPendingKeys(join(place.path, 'pending')),
    [Symbol.asyncDispose]: async () => {
      await grants[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
  places.set(stores, place);
  return stores;
}

storeContract('On a disk', {
  open: async (clock) => onDisk(await makePlace(), clock),
  reopen: async (stores, clock) => {
    const place = places.get(stores);
    if (place === undefined) throw new Error('these stores were not opened here');
    await stores.grants[Symbol.asyncDispose]();
    return onDisk(place, clock);
  },
});

storeContract('In memory', {
  open: async (clock) => {
    const ledger = new MemoryLedger(clock);
    const grants = new MemoryGrantStore({ ledger, clock });
    return {
      bundles: new MemoryBundles(),
      ledger,
      grants,
      pending: new MemoryPendingKeys(),
      [Symbol.asyncDispose]: () => grants[Symbol.asyncDispose](),
    };
  },
});
