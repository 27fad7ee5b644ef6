/** Gathers the records of one connection from all routers of a site. */
import type { RecordState } from '../../router/contract.ts';
import { mergeRecords } from '../../router/records/merge-records.ts';
import { readRecord } from '../../router/records/read-record.ts';
import { fieldsIn, recordsIn } from '../../text/untrusted-fields.ts';
import type { RecordFacts } from '../connection/explain-record.ts';
import type { Source } from '../connection/site-facts.ts';
import { NO_API, type SiteSources } from './gather-site.ts';
import { readSource } from './read-source.ts';

const STATES: readonly RecordState[] = ['open', 'ended', 'failed'];
/** Maximum number of records of one router and one state. An ID has one, unless a peer uses it again. */
const MOST = 8;

export async function gatherRecord({ askRouters, connect }: SiteSources, id: string): Promise<Source<readonly RecordFacts[]>> {
  if (askRouters === undefined) return { unknown: NO_API };
  await connect?.();
  return readSource('the records of connections', async (signal) => {
    const query = new URLSearchParams({ id, limit: String(MOST) });
    const lists = STATES.map(async (state) => {
      const answers = await askRouters(`/v1/connections?state=${state}&${query.toString()}`, signal);
      return answers.flatMap((answer) => recordsIn(fieldsIn(answer)['items'], MOST)).map((item) => readRecord(item, state));
    });
    return mergeRecords((await Promise.all(lists)).flat()).filter((record) => record.id === id);
  });
}
