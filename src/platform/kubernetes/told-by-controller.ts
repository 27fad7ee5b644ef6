/** What the site's controller tells its routers in their ConfigMap: pure. */
import { ROUTER_DATA } from '../../api/skupper/cluster-names.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import type { Revocations } from '../../identity/issued.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseAnchor } from '../../trust/anchor.ts';

/** The uid of the Site that the namespace is; undefined where it is not said. */
export function siteUidIn(told: ConfigMap | undefined): string | undefined {
  const site = parsed(told?.data?.[ROUTER_DATA.site]);
  return isRecord(site) && typeof site['uid'] === 'string' ? site['uid'] : undefined;
}

/** The id of the site, once its controller has said it. */
export function siteIdIn(told: ConfigMap | undefined): string | undefined {
  return parseAnchor(told?.data?.[ROUTER_DATA.anchor]).siteId;
}

/** Counts the changes of the list of revoked sites; undefined where an earlier controller wrote it. */
export function sequenceIn({ data }: ConfigMap): number | undefined {
  return parseAnchor(data?.[ROUTER_DATA.anchor]).revocations?.sequence;
}

/**
 * Who is revoked.
 * @throws EarshotError `state-…`: to take what is missing or cannot be read for nothing would let everyone back in
 */
export function revocationsIn({ metadata: { name = '' }, data }: ConfigMap): Revocations {
  const text = data?.[ROUTER_DATA.revoked];
  if (text === undefined) {
    throw new EarshotError(
      'state-unavailable',
      `the ConfigMap ${name} does not say who is revoked: the site's controller has not written it yet`,
    );
  }
  const revoked = parsed(text);
  if (isRecord(revoked) && areTexts(revoked['sites']) && areTexts(revoked['serials'])) {
    return { sites: revoked['sites'], serials: revoked['serials'] };
  }
  throw new EarshotError('state-damaged', `${ROUTER_DATA.revoked} in the ConfigMap ${name} is damaged, so nobody knows who is revoked`);
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function parsed(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? 'null');
  } catch {
    return undefined;
  }
}
