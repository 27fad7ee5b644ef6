/** docs/reference/errors.md, from the catalogue of codes. */
import { modules, type CatalogueEntry } from '../src/errors/catalogue.ts';
import { conditionReason, type ConditionCode } from '../src/errors/condition-reason.ts';

export function errorReference(): string {
  const sections = Object.entries(TITLES).map(([module, title]) => {
    const rows = Object.entries<CatalogueEntry>(modules[module as keyof typeof modules]).map(([code, [shown, meaning, whatToDo]]) => {
      return `| \`${code}\` | ${meaning} | ${whatToDo} | ${shown
        .split(' ')
        .map((place) => placeOf(place, code))
        .join(', ')} |`;
    });
    return [`## ${title}`, ['| code | means | what to do | shown |', '| --- | --- | --- | --- |', ...rows].join('\n')].join('\n\n');
  });
  return `${[INTRODUCTION.trim(), ...sections].join('\n\n')}\n`;
}

function placeOf(place: string, code: string): string {
  // Users look up a condition by its reason.
  return place === 'condition' || place === 'event' ? `${place} \`${conditionReason(code as ConditionCode)}\`` : place;
}

const TITLES: Readonly<Record<keyof typeof modules, string>> = {
  tls: 'TLS bundles and certificates',
  links: 'Links to other sites',
  ports: 'Ports and names of this machine',
  connections: 'Connections and their servers',
  site: 'Resources of a site',
  trust: 'Trust: certificates, grants, tokens',
  files: 'Files and processes',
  cli: 'The command line',
  console: 'Console',
  exposure: 'Listeners in Kubernetes',
  volumes: 'Listener volumes of pods',
  kube: 'The API server of Kubernetes',
  router: 'Within the router',
};

const INTRODUCTION = `
<!-- Written by \`npm run generate\` from src/errors/catalogue.ts: change it there. -->

# Codes of errors and conditions

One fault has one code everywhere. The message beside a code names the object, file or address.

| shown | as |
| --- | --- |
| condition | the reason of a condition, in CamelCase: \`tls-no-key\` is \`TlsNoKey\`; the same in \`status.mounts\` of a PodListeners |
| event | the reason of an event, spelled like that of a condition |
| metric | \`reason\` of \`earshot_router_peers_refused_total\`, \`earshot_router_connections_failed_total\` and \`earshot_router_clients_refused_total\`, \`outcome\` of \`earshot_router_link_attempts_total\`; \`code\` of \`earshot_api_requests_total\`, there in capitals: \`KUBE_TIMEOUT\` |
| answer | the answer to another site: see [the protocol](../protocol.md#9-errors). Or the error of a call of the kubelet, whose message is in an event of the pod |
| exit | the exit status of a command: see [the command line](cli.md#exit-codes) |
| log | only \`code\` in log lines, which have all other codes too |
`;
