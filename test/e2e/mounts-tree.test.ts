import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { API, byListener, claim, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { becomesTree, expectedTree, type TreeFiles } from './support/tree.ts';

const PORTS = [
  { name: 'http', port: 8080 },
  { name: 'admin', port: 9090 },
  { name: 'dns', port: 53, protocol: 'UDP' },
];

/** What any program sees: names, kinds and modes through all links, link texts, and every byte of every file. */
const look = `
cd /listeners/"$1"
echo "* $(echo *)"
echo "readlink $(readlink default-address)"
find -L addresses default-address/ | sort | while read -r path; do
  if [ -d "$path" ]; then echo "$(stat -L -c '%F %a' "$path") $path"
  else echo "$(stat -L -c '%F %a' "$path") $path $(od -A n -t c "$path" | tr -s ' ')"; fi
done
`;

describe('the files in a listener volume', { timeout: 400_000 }, () => {
  const namespace = useNamespace('tree');
  const { cluster } = namespace;
  const [node] = cluster.nodes;
  assert.ok(node);

  before(async () => {
    for (const serviceType of ['NodePort', 'ClusterIP'] as const) {
      const name = serviceType.toLowerCase();
      const className = await namespace.class(name, { serviceType, preferredAddressType: 'IP' });
      await namespace.listener(name, { className, ports: PORTS });
      await namespace.create(claim(name, byListener(name)));
    }
    await namespace.create(pod('reader', { node: node.name, volumes: { nodeport: 'nodeport', clusterip: 'clusterip' } }));
    await namespace.running('reader');
  });

  it("are byte for byte the node's address and the node ports, where the scope is Node", async () => {
    const { spec } = await namespace.service('nodeport');
    const nodePort = (wanted: string): string => String(spec?.ports?.find(({ name }) => name === wanted)?.nodePort);
    const ports = { admin: nodePort('admin'), dns: nodePort('dns'), http: nodePort('http') };
    assert.equal(await namespace.exec('reader', ['sh', '-c', look, 'sh', 'nodeport']), tree(node.addresses[0] ?? '', ports));
  });

  it('follow a running Listener: a port more, a port less, another class', async () => {
    const [inner, outer] = [
      await namespace.class('inner', { serviceType: 'ClusterIP', preferredAddressType: 'IP' }),
      await namespace.class('outer', { serviceType: 'NodePort' }),
    ];
    const [http, admin] = [
      { name: 'http', port: 8080 },
      { name: 'admin', port: 9090 },
    ];
    await namespace.listener('follows', { className: inner, ports: [http] });
    await namespace.create(claim('follows', byListener('follows')), pod('follower', { node: node.name, volumes: { follows: 'follows' } }));
    await namespace.running('follower');
    const { spec } = await namespace.service('follows');
    const address = spec?.clusterIP ?? '';
    const read = (): Promise<TreeFiles> => namespace.tree('follower', 'follows');
    assert.deepEqual(await read(), expectedTree([{ address, addressType: 'IP', ports: { http: 8080 } }]));

    await namespace.patch(API, 'Listener', 'follows', { spec: { ports: [http, admin] } });
    await becomesTree(read, [{ address, addressType: 'IP', ports: { http: 8080, admin: 9090 } }]);
    await namespace.patch(API, 'Listener', 'follows', { spec: { ports: [admin] } });
    await becomesTree(read, [{ address, addressType: 'IP', ports: { admin: 9090 } }]);
    await namespace.patch(API, 'Listener', 'follows', { spec: { className: outer } });
    const { status } = await namespace.untilListener(
      'follows',
      'to have node ports',
      (listener) => listener.status?.nodePorts !== undefined,
    );
    await becomesTree(read, [{ address: node.addresses[0] ?? '', addressType: 'IP', ports: { admin: status?.nodePorts?.['admin'] ?? 0 } }]);
    assert.equal((await namespace.podListeners('follower')).spec.listeners['follows']?.scope, 'Node');
  });

  it("are byte for byte the Service's address and its own ports, where the scope is Cluster", async () => {
    const { spec } = await namespace.service('clusterip');
    assert.equal(
      await namespace.exec('reader', ['sh', '-c', look, 'sh', 'clusterip']),
      tree(spec?.clusterIP ?? '', { admin: '9090', dns: '53', http: '8080' }),
    );
  });
});

function tree(address: string, ports: Readonly<Record<string, string>>): string {
  const bytes = (text: string): string => ` ${[...text].join(' ')}`;
  const folder = (at: string): readonly string[] => [
    `directory 755 ${at}`,
    `regular file 644 ${at}/address ${bytes(address)}`,
    `directory 755 ${at}/ports`,
    ...Object.entries(ports).map(([name, port]) => `regular file 644 ${at}/ports/${name} ${bytes(port)}`),
  ];
  return [
    '* addresses default-address',
    `readlink addresses/${address}`,
    'directory 755 addresses',
    ...folder(`addresses/${address}`),
    'directory 755 default-address/',
    ...folder('default-address').slice(1),
    '',
  ].join('\n');
}
