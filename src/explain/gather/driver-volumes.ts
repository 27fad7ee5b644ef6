/** Asks the driver of a node for its volumes, through the API server. */
import type { Key, PodAccess } from '../../kube/contract.ts';
import { isForbidden } from '../../kube/errors.ts';
import { fieldsIn, recordsIn, textIn, withoutUndefined } from '../../text/untrusted-fields.ts';
import type { Source } from '../connection/site-facts.ts';
import type { DriverVolume } from '../exposure/exposure-facts.ts';
import { readSource } from './read-source.ts';

/** HTTP port of the driver's pods in the chart. */
const PORT = 8081;
const MOST_VOLUMES = 5_000;
const MOST_CHARACTERS = 253;

/** @param driver its pod @returns undefined if the user may not ask it: most users of a namespace may not */
export async function askDriver(client: Pick<PodAccess, 'getFromPod'>, driver: Key): Promise<Source<readonly DriverVolume[]> | undefined> {
  let isDenied = false;
  const source = await readSource('the node driver', async (signal) => {
    try {
      return readVolumes(await client.getFromPod(driver, { port: PORT, page: 'v1/volumes', signal }));
    } catch (error) {
      isDenied = isForbidden(error);
      throw error;
    }
  });
  return isDenied ? undefined : source;
}

/** @throws Error for the answer of an older driver, which does not have the page */
function readVolumes(text: string): readonly DriverVolume[] {
  if (!text.startsWith('{')) throw new Error('this version does not list its volumes');
  return recordsIn(fieldsIn(JSON.parse(text))['items'], MOST_VOLUMES).map((item) => ({
    pod: textIn(item, 'pod', MOST_CHARACTERS) ?? '',
    volume: textIn(item, 'volume', MOST_CHARACTERS) ?? '',
    isStale: item['stale'] === true,
    ...withoutUndefined({ hash: textIn(item, 'hash', MOST_CHARACTERS), writtenAt: textIn(item, 'writtenAt', MOST_CHARACTERS) }),
  }));
}
