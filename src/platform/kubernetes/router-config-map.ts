/** Parses the ConfigMap from the site's controller to its routers (pure). */
import { ROUTER_DATA } from '../../api/skupper/cluster-names.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import type { Revocations } from '../../identity/issued.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseAnchor } from '../../trust/anchor.ts';

/** Returns the UID of the namespace's active Site; undefined if the ConfigMap does not name it. */
export function siteUidIn(configMap: ConfigMap | undefined): string | undefined {
  const site = parsed(configMap?.data?.[ROUTER_DATA.site]);
  return isRecord(site) && typeof site['uid'] === 'string' ? site['uid'] : undefined;
}

/** Returns the site ID; undefined until the controller has written it. */
export function siteIdIn(configMap: ConfigMap | undefined): string | undefined {
  return parseAnchor(configMap?.data?.[ROUTER_DATA.anchor]).siteId;
}

/** Returns the sequence number of the list of revoked sites; undefined if an earlier controller wrote it. */
export function sequenceIn({ data }: ConfigMap): number | undefined {
  return parseAnchor(data?.[ROUTER_DATA.anchor]).revocations?.sequence;
}

/**
 * Returns the revoked sites and certificates.
 * @throws EarshotError `state-…`: treating a missing or unreadable list as empty would lift every revocation
 */
export function revocationsIn({ metadata: { name = '' }, data }: ConfigMap): Revocations {
  const text = data?.[ROUTER_DATA.revoked];
  if (text === undefined) {
    throw new EarshotError(
      'state-unavailable',
      `the ConfigMap ${name} has no list of revoked sites: the site's controller has not written it yet`,
    );
  }
  const revoked = parsed(text);
  if (isRecord(revoked) && areTexts(revoked['sites']) && areTexts(revoked['serials'])) {
    return { sites: revoked['sites'], serials: revoked['serials'] };
  }
  throw new EarshotError('state-damaged', `${ROUTER_DATA.revoked} in the ConfigMap ${name} is damaged, so the revoked sites are unknown`);
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
