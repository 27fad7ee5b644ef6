/**
 * Hosts on one machine, and what is done to the wires between them:
 *
 *   await using net = await createNetwork({ hosts: ['west', 'east'], test });
 *   await using site = await startSite(net.host('east'));
 *   await net.host('west').run(['curl', 'http://east:8080/']);
 */
export { eventually } from '../../harness/wait.ts';
export { HarnessError } from '../../harness/failures.ts';
export { Host, type ProgramOptions } from './host.ts';
export type { CommandOptions, Outcome } from '../../harness/command.ts';
export { createNetwork, Network, type NetworkOptions } from './network.ts';
export { Program, type Exit } from '../../harness/program.ts';
export { createAuthority, issue, type Authority, type CertificateFiles } from './certificates.ts';
export {
  ENDLESS_PAGES,
  postgresPrograms,
  startEcho,
  startIperf3,
  startNginx,
  startNode,
  startPostgres,
  startRedis,
  startSshd,
  type Sshd,
} from './servers.ts';
export { connector, listener, manifest, type Manifest } from './manifests.ts';
export { linkByToken, networkOf, Site, startSite, type SiteOptions, type Status, type Written } from './site.ts';
export { placeLinkFiles } from './link-files.ts';
export { startLinkedPair, type LinkedPair } from './linked-pair.ts';
export { converse, startTcpPeer } from './tcp-peers.ts';
export { standStill, startHeldDownload } from './downloads.ts';
export { failuresOf, startRequests, untilRefused, type RequestResult, type Requests } from './requests.ts';
export { startSteady, type Steady } from './steady.ts';
