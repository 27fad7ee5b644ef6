import { clusterDomainIn } from '../../exposure/cluster-domain.ts';
import { readText } from '../../files/durable.ts';
import type { Logger } from '../../telemetry/log.ts';

const RESOLV_CONF = '/etc/resolv.conf';
const USUAL = 'cluster.local';

/** The cluster domain that the kubelet wrote to resolv.conf, or the default. */
export async function findClusterDomain(namespace: string, log: Logger): Promise<string> {
  const text = await readText(RESOLV_CONF, { bytes: 64 * 1024 }).catch((error: unknown) => {
    log.debug({ error }, `${RESOLV_CONF} cannot be read`);
    return undefined;
  });
  const found = clusterDomainIn(text ?? '', namespace);
  const where =
    found === undefined
      ? `${RESOLV_CONF} does not contain the domain of this cluster; set it with --cluster-domain`
      : `found in ${RESOLV_CONF}`;
  log.info({ clusterDomain: found ?? USUAL }, where);
  return found ?? USUAL;
}
