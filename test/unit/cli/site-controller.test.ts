import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Flags } from '../../../src/cli/commands/site-controller-settings.ts';
import { startOf } from '../../../src/cli/commands/site-controller-settings.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { VERSION } from '../../../src/version.ts';

type Environment = Readonly<Record<string, string>>;

const original = { ...process.env };
afterEach(() => void (process.env = { ...original }));

/** Settings that follow from the arguments of a manifest. */
async function start(words: readonly string[], environment: Environment = {}, namespaceOfPod: string | undefined = 'mine') {
  process.env = { HOSTNAME: 'skupper-controller-6fd6dbd4c4-x2x7b', ...environment };
  let errors = '';
  const program = buildProgram({ out: () => {}, note: (text) => void (errors += text), input: async () => '' });
  const command = program.commands.find((each) => each.name() === 'site-controller') ?? assert.fail();
  let seen: Flags | undefined;
  command.action((flags: Flags) => void (seen = flags));
  await program.parseAsync(['site-controller', ...words], { from: 'user' }).catch((error: unknown) => {
    throw new Error(errors, { cause: error });
  });
  return startOf(seen ?? assert.fail(), process.env, namespaceOfPod);
}

describe('earshot site-controller', () => {
  it('without a word is the controller of all namespaces, named after its Deployment', async () => {
    const { settings, identity, httpPort, metrics, notices } = await start([]);
    assert.deepEqual(settings, {
      name: 'skupper-controller',
      namespace: 'mine',
      version: VERSION,
      requireExplicitControl: false,
      routerImage: `localhost/earshot:${VERSION}`,
      routerImagePullPolicy: 'IfNotPresent',
      imagePullSecrets: [],
      disableSecurityContext: false,
      access: {
        enabledTypes: ['local', 'loadbalancer', 'route'],
        defaultType: '',
        clusterHost: '',
        ingressDomain: '',
        ingressClassName: '',
        httpProxyDomain: '',
        gatewayDomain: '',
        gatewayClass: '',
        gatewayPort: 8443,
      },
      grants: {
        enabled: false,
        autoconfigure: false,
        baseUrl: '',
        port: 9090,
        tlsCredentials: 'skupper-grant-server',
        podName: 'skupper-controller-6fd6dbd4c4-x2x7b',
      },
    });
    assert.deepEqual([identity, httpPort, metrics, notices], ['skupper-controller-6fd6dbd4c4-x2x7b', 9000, true, []]);
  });

  it('takes flags with one dash as with two, and switches with a value', async () => {
    const grants = async (...words: readonly string[]) => {
      const { enabled, autoconfigure } = (await start(words, { SKUPPER_ENABLE_GRANTS: 'true' })).settings.grants;
      return [enabled, autoconfigure];
    };
    assert.deepEqual(await grants('-enable-grants', '-grant-server-autoconfigure'), [true, true]);
    assert.deepEqual(await grants('--enable-grants=false', '-grant-server-autoconfigure=T'), [false, true]);
    assert.equal((await start(['-cluster-host', '10.0.0.1'])).settings.access.clusterHost, '10.0.0.1');
    assert.equal((await start(['-watch-namespace=west'])).settings.watchNamespace, 'west');
  });

  // The flag, its variable, a value of each, and where it arrives.
  const rows: readonly (readonly [flag: string, variable: string, at: string])[] = [
    ['namespace', 'NAMESPACE', 'settings.namespace'],
    ['name', 'CONTROLLER_NAME', 'settings.name'],
    ['watch-namespace', 'WATCH_NAMESPACE', 'settings.watchNamespace'],
    ['router-image', 'SKUPPER_ROUTER_IMAGE', 'settings.routerImage'],
    ['default-access-type', 'SKUPPER_DEFAULT_ACCESS_TYPE', 'settings.access.defaultType'],
    ['cluster-host', 'SKUPPER_CLUSTER_HOST', 'settings.access.clusterHost'],
    ['ingress-domain', 'SKUPPER_INGRESS_DOMAIN', 'settings.access.ingressDomain'],
    ['ingress-class-name', 'SKUPPER_INGRESS_CLASS_NAME', 'settings.access.ingressClassName'],
    ['http-proxy-domain', 'SKUPPER_HTTP_PROXY_DOMAIN', 'settings.access.httpProxyDomain'],
    ['gateway-class', 'SKUPPER_GATEWAY_CLASS', 'settings.access.gatewayClass'],
    ['gateway-domain', 'SKUPPER_GATEWAY_DOMAIN', 'settings.access.gatewayDomain'],
    ['gateway-port', 'SKUPPER_GATEWAY_PORT', 'settings.access.gatewayPort'],
    ['grant-server-base-url', 'SKUPPER_GRANT_SERVER_BASE_URL', 'settings.grants.baseUrl'],
    ['grant-server-port', 'SKUPPER_GRANT_SERVER_PORT', 'settings.grants.port'],
    ['grant-server-tls-credentials', 'SKUPPER_GRANT_SERVER_TLS_CREDENTIALS', 'settings.grants.tlsCredentials'],
    ['grant-server-podname', 'HOSTNAME', 'settings.grants.podName'],
    ['kubeconfig', 'KUBECONFIG', 'kubeconfig'],
  ];
  for (const [flag, variable, at] of rows) {
    it(`reads --${flag} before ${variable}, and an empty variable as none`, async () => {
      const [one, other] = flag.endsWith('port') ? ['1234', '4321'] : ['one', 'other'];
      const more = ['--enabled-access-types=one,other'];
      const arrives = async (words: readonly string[], environment: Environment): Promise<unknown> =>
        at.split('.').reduce((value: unknown, name) => Object(value)[name], await start([...more, ...words], environment));
      assert.equal(String(await arrives([], { [variable]: one })), one);
      assert.equal(String(await arrives([`--${flag}=${one}`], { [variable]: other })), one);
      assert.equal(
        await arrives([], { [variable]: '', POD_NAME: 'pod' }),
        await arrives([], { POD_NAME: 'pod', ...(variable === 'HOSTNAME' ? { HOSTNAME: '' } : {}) }),
      );
    });
  }

  it('reads the switches of the environment', async () => {
    const { settings, metrics } = await start([], {
      REQUIRE_EXPLICIT_CONTROL: 'true',
      DISABLE_SECURITY_CONTEXT: '1',
      SKUPPER_ENABLE_GRANTS: 'TRUE',
      SKUPPER_GRANT_SERVER_AUTOCONFIGURE: 'false',
      SKUPPER_METRICS_DISABLE: 't',
    });
    assert.deepEqual([settings.requireExplicitControl, settings.disableSecurityContext, metrics], [true, true, false]);
    assert.deepEqual([settings.grants.enabled, settings.grants.autoconfigure], [true, false]);
    await assert.rejects(start([], { SKUPPER_ENABLE_GRANTS: 'maybe' }), /SKUPPER_ENABLE_GRANTS.*It must be true or false/s);
  });

  it('finds its names by the pod that it runs in', async () => {
    const names = async (environment: Environment, namespaceOfPod?: string) => {
      const { settings, identity } = await start([], environment, namespaceOfPod);
      return [settings.namespace, settings.name, identity];
    };
    assert.deepEqual(await names({ POD_NAMESPACE: 'here', POD_NAME: 'a' }), ['here', 'skupper-controller', 'a']);
    assert.deepEqual(await names({ HOSTNAME: 'my-controller-7c9d8f5b6d-q4zvx' }), [
      'mine',
      'my-controller',
      'my-controller-7c9d8f5b6d-q4zvx',
    ]);
    assert.deepEqual(await names({ HOSTNAME: 'laptop' }), ['mine', 'laptop', 'laptop']);
    await assert.rejects(start([], {}, ''), /Name the namespace of this controller/);
    await assert.rejects(start([], { HOSTNAME: '' }), /Name this replica/);
  });

  it('serves metrics at the given address', async () => {
    const listens = async (address: string) => {
      const { httpPort, httpHost } = await start(['--metrics-address', address]);
      return [httpHost, httpPort];
    };
    assert.deepEqual(await listens(':9001'), [undefined, 9001]);
    assert.deepEqual(await listens('127.0.0.1:0'), ['127.0.0.1', 0]);
    assert.deepEqual(await listens('[::1]:9000'), ['::1', 9000]);
    for (const wrong of ['9000', ':70000', 'http://a:1']) await assert.rejects(listens(wrong), /is not an address for metrics/);
  });

  it('makes the routers’ image of the registry, and takes none of another program', async () => {
    const image = async (environment: Environment) => (await start([], environment)).settings.routerImage;
    assert.equal(await image({ SKUPPER_IMAGE_REGISTRY: 'registry.example.com/team/' }), `registry.example.com/team/earshot:${VERSION}`);
    assert.equal(await image({ SKUPPER_ROUTER_IMAGE: 'a/earshot@sha256:1', SKUPPER_IMAGE_REGISTRY: 'b' }), 'a/earshot@sha256:1');
    await assert.rejects(
      image({ SKUPPER_ROUTER_IMAGE: 'quay.io/skupper/skupper-router:3.4.0' }),
      /is Skupper's router: set Earshot's image/,
    );
  });

  const refused: readonly (readonly [environment: Environment, message: RegExp])[] = [
    [{ SKUPPER_DEFAULT_ACCESS_TYPE: 'nodeport' }, /default access type "nodeport" is not enabled \(local, loadbalancer, route\)/],
    [{ SKUPPER_ENABLED_ACCESS_TYPES: 'local,nodeport' }, /nodeport needs the host .* --cluster-host/],
    [{ SKUPPER_ENABLED_ACCESS_TYPES: ' gateway , local' }, /gateway needs the class .* --gateway-class/],
    [{ SKUPPER_ROUTER_IMAGE_PULL_POLICY: 'Sometimes' }, /It must be Always, IfNotPresent or Never/],
    [{ SKUPPER_GATEWAY_PORT: '0x1' }, /It must be a port number/],
  ];
  for (const [environment, message] of refused) {
    it(`does not start with ${JSON.stringify(environment)}`, () => assert.rejects(start([], environment), message));
  }

  it('starts with what those need', async () => {
    const { access } = (
      await start([
        '-cluster-host',
        'n1',
        '-gateway-class=eg',
        '-enabled-access-types=nodeport,gateway,local',
        '-default-access-type=local',
      ])
    ).settings;
    assert.deepEqual(access.enabledTypes, ['nodeport', 'gateway', 'local']);
    assert.equal((await start(['-default-access-type', 'listenerclass:public'])).settings.access.defaultType, 'listenerclass:public');
  });

  it('names what has no effect', async () => {
    const { notices } = await start(['-allow-redeem-by-key', '-enabled-access-types=local,pigeon,listenerclass:a'], {
      SKUPPER_KUBE_ADAPTOR_IMAGE: 'quay.io/skupper/kube-adaptor',
      SKUPPER_KUBE_CLIENT_QPS: '',
      SKUPPER_KUBE_CLIENT_BURST: '100',
    });
    assert.deepEqual(notices, [
      "SKUPPER_KUBE_ADAPTOR_IMAGE has no effect: a router's pod has one container",
      'SKUPPER_KUBE_CLIENT_BURST has no effect: the API server limits the rate',
      '--allow-redeem-by-key has no effect: a token names its grant',
      'access type "pigeon" is unknown; known types are local, loadbalancer, nodeport, route, ingress, ingress-nginx, contour-http-proxy, gateway and listenerclass:NAME',
    ]);
  });
});
